"""Registration of this package's models with transformers' Auto classes, without importing
transformers.

`paraphrastic_hf.models` registers its classes on import, but importing it loads torch (2.9 s). This
module therefore makes the first `AutoConfig.from_pretrained` import it. All Auto classes, pipelines
and sentence-transformers call that method (transformers 5.20 to 5.23). It works whichever of the
two packages is imported first. transformers has no entry points for models.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

CONFIG_MODULE = "transformers.models.auto.configuration_auto"
MODELS_MODULE = "paraphrastic_hf.models"


def register_on_first_use() -> None:
    if CONFIG_MODULE in sys.modules:
        _arm(sys.modules[CONFIG_MODULE])
    elif _ConfigModuleFinder not in sys.meta_path:
        sys.meta_path.insert(0, _ConfigModuleFinder)


def _arm(module: ModuleType) -> None:
    """Patch `AutoConfig.from_pretrained`, so that its next call imports this package's models
    first.
    """
    auto_config: Any = module.AutoConfig
    original = auto_config.__dict__["from_pretrained"]

    def from_pretrained(cls: type, *args: Any, **kwargs: Any) -> Any:
        auto_config.from_pretrained = original
        importlib.import_module(MODELS_MODULE)
        return original.__get__(None, cls)(*args, **kwargs)

    if MODELS_MODULE not in sys.modules:
        auto_config.from_pretrained = classmethod(from_pretrained)


class _ConfigModuleFinder:
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
