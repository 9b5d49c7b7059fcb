"""Makes transformers' Auto classes know this package's, without importing transformers first.

`import paraphrastic_hf` must be cheap (the command line, the metric), yet the Auto classes must
work after it. `paraphrastic_hf.models` registers its classes when it is imported; this module has
it imported by the first `from_pretrained` of `AutoConfig` (through which every Auto model, pipeline
and sentence-transformers module goes) or `AutoTokenizer`. Nothing happens earlier: transformers'
Auto modules load while it is half imported itself.
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

AUTO_CLASSES = {
    "transformers.models.auto.configuration_auto": "AutoConfig",
    "transformers.models.auto.tokenization_auto": "AutoTokenizer",
}
MODELS_MODULE = "paraphrastic_hf.models"


def register_on_first_use() -> None:
    """Arrange for our classes to register with the first `from_pretrained` of an Auto class."""
    for name in AUTO_CLASSES:
        if name in sys.modules:
            _arm(sys.modules[name])
    if not any(isinstance(finder, _AutoModuleFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AutoModuleFinder())


def _arm(module: ModuleType) -> None:
    """Have the Auto class's next `from_pretrained` import our models first, then be itself
    again."""
    auto_class: Any = getattr(module, AUTO_CLASSES[module.__name__])
    original = auto_class.__dict__["from_pretrained"]

    def from_pretrained(cls: type, *args: Any, **kwargs: Any) -> Any:
        auto_class.from_pretrained = original
        importlib.import_module(MODELS_MODULE)
        return original.__get__(None, cls)(*args, **kwargs)

    if MODELS_MODULE not in sys.modules:
        auto_class.from_pretrained = classmethod(from_pretrained)


class _AutoModuleFinder(MetaPathFinder):
    """Finds an Auto module as usual, and arms it once it has run."""

    def __init__(self) -> None:
        self._searching = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in AUTO_CLASSES or self._searching:
            return None
        self._searching = True
        try:
            spec = find_spec(name)
        finally:
            self._searching = False
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
