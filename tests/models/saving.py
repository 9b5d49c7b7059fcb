"""A check that a saved model loads with the Auto class and as remote code."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers.dynamic_module_utils import get_class_from_dynamic_module


def check_saving(model: Any, folder: Path, auto: Any, run: Callable[[Any], Tensor]) -> None:
    """Weights must be equal to the bit, results of `run` to rounding (memory layout matters)."""
    model.save_pretrained(folder)
    remote = get_class_from_dynamic_module(model.config.auto_map[auto.__name__], str(folder))
    assert remote.__module__.startswith("transformers_modules")
    for loaded in (auto.from_pretrained(folder), remote.from_pretrained(folder)):
        assert loaded.config.to_dict().keys() == model.config.to_dict().keys()
        assert loaded.config.id2label == model.config.id2label
        for key, weight in model.state_dict().items():
            assert torch.equal(loaded.state_dict()[key], weight), key
        torch.testing.assert_close(run(loaded.eval()), run(model))
