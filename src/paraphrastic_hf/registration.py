"""Registration of this package's models with transformers' Auto classes, without importing
transformers.

`import paraphrastic_hf` must be fast, yet the Auto classes must know its models in whatever order
the two packages are imported. `paraphrastic_hf.models` registers its classes on import. This module
makes the first `AutoConfig.from_pretrained` import it. Every Auto model, `AutoTokenizer`, pipeline
and sentence-transformers module calls that function (transformers 5.20 to 5.23). An earlier hook is
impossible: transformers loads the module of `AutoConfig` while it is itself only half imported.

Simpler alternatives fail. Registering at once loads torch and takes 2.9 s, compared with 17 ms for
`import paraphrastic_hf` (best of four fresh processes on two cores; `import transformers` alone
takes 0.5 s). Registering only if transformers is already imported misses the other order.
transformers 5.23 has no entry points for models, and `importlib.util.LazyLoader` breaks it because
it replaces its own module. wrapt's import hooks work like the finder below and save 15 lines, but
importing wrapt takes 80 ms.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

CONFIG_MODULE = "transformers.models.auto.configuration_auto"
MODELS_MODULE = "paraphrastic_hf.models"


def register_on_first_use() -> None:
    """Register this package's classes on the first `AutoConfig.from_pretrained`."""
    if CONFIG_MODULE in sys.modules:
        _arm(sys.modules[CONFIG_MODULE])
    elif _ConfigModuleFinder not in sys.meta_path:
        sys.meta_path.insert(0, _ConfigModuleFinder)


def _arm(module: ModuleType) -> None:
    """Make the next `AutoConfig.from_pretrained` import this package's models first."""
    auto_config: Any = module.AutoConfig
    original = auto_config.__dict__["from_pretrained"]

    def from_pretrained(cls: type, *args: Any, **kwargs: Any) -> Any:
        auto_config.from_pretrained = original
        importlib.import_module(MODELS_MODULE)
        return original.__get__(None, cls)(*args, **kwargs)

    if MODELS_MODULE not in sys.modules:
        auto_config.from_pretrained = classmethod(from_pretrained)


class _ConfigModuleFinder:
    """Import hook that patches `AutoConfig` once its module is loaded."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == CONFIG_MODULE else None
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_arm(module: ModuleType) -> None:
                run(module)
                _arm(module)

            spec.loader.exec_module = run_and_arm  # type: ignore[method-assign]
        return spec
