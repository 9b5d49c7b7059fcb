"""Makes `AutoModel.from_pretrained` know this package's models, without importing transformers first.

`import paraphrastic_hf` must be cheap (the command line, the metric), yet the Auto classes must work after
it. `paraphrastic_hf.models` registers its classes when it is imported; this module has it imported by
the first `AutoConfig.from_pretrained`, through which every Auto class, pipeline and sentence-transformers
module goes. Nothing happens earlier: transformers' Auto modules load while it is half imported itself.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

AUTO_CONFIG_MODULE = "transformers.models.auto.configuration_auto"
MODELS_MODULE = "paraphrastic_hf.models"


def register_on_first_use() -> None:
    """Arrange for the models to register with the first `AutoConfig.from_pretrained`."""
    if AUTO_CONFIG_MODULE in sys.modules:
        _arm(sys.modules[AUTO_CONFIG_MODULE])
    elif not any(isinstance(finder, _AutoConfigFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AutoConfigFinder())


def _arm(module: ModuleType) -> None:
    """Have the next `AutoConfig.from_pretrained` import our models first, then be itself again."""
    auto_config: Any = module.AutoConfig
    original = auto_config.__dict__["from_pretrained"]

    def from_pretrained(cls: type, *args: Any, **kwargs: Any) -> Any:
        auto_config.from_pretrained = original
        importlib.import_module(MODELS_MODULE)
        return original.__get__(None, cls)(*args, **kwargs)

    if MODELS_MODULE not in sys.modules:
        auto_config.from_pretrained = classmethod(from_pretrained)


class _AutoConfigFinder(MetaPathFinder):
    """Finds transformers' `AutoConfig` module as usual, and arms it once it has run."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != AUTO_CONFIG_MODULE:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _ArmingLoader(spec.loader)
        return spec


class _ArmingLoader(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _arm(module)
