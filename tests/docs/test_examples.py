import doctest
import importlib
from pathlib import Path

import numpy as np
import pytest
import torch

import paraphrastic_hf

SOURCE = Path(paraphrastic_hf.__file__).parent
EXAMPLES = [path for path in sorted(SOURCE.rglob("*.py")) if ">>> " in path.read_text()]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_docstring_examples_run(path):
    name = ".".join(("paraphrastic_hf", *path.relative_to(SOURCE).with_suffix("").parts))
    common = {"np": np, "torch": torch}
    assert doctest.testmod(importlib.import_module(name), extraglobs=common).failed == 0
