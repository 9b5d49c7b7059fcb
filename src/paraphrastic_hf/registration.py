"""Makes transformers' Auto classes know this package's, without importing transformers first.

`import paraphrastic_hf` must be cheap (for the command line and the metric), yet the Auto classes
must know our models after it, in whatever order the two packages are imported.
`paraphrastic_hf.models` registers its classes when it is imported. This module has it imported by
the first `AutoConfig.from_pretrained`, through which every Auto model, `AutoTokenizer`, pipeline
and sentence-transformers module goes (transformers 5.20 to 5.23). Nothing can happen earlier, since
transformers loads the module of `AutoConfig` while it is only half imported itself.

It patches through `sys.meta_path` because what is plainer was measured and falls short.
Registering at once takes 2.9 s and loads torch, where `import paraphrastic_hf` takes 17 ms (best of
four fresh processes on two cores; `import transformers` alone takes 0.5 s). Registering only if
transformers is imported already leaves `AutoModel` without our models when it is imported second.
transformers 5.23 has no entry points for models, and `importlib.util.LazyLoader` breaks it, since
it puts another module in its own place. wrapt's import hooks would do the same as the finder below,
through `sys.meta_path` too, and save 15 lines, but importing wrapt takes 80 ms.
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
    """Arrange for our classes to register with the first `AutoConfig.from_pretrained`."""
    if CONFIG_MODULE in sys.modules:
        _arm(sys.modules[CONFIG_MODULE])
    elif _ConfigModuleFinder not in sys.meta_path:
        sys.meta_path.insert(0, _ConfigModuleFinder)


def _arm(module: ModuleType) -> None:
    """Let the next `AutoConfig.from_pretrained` import our models before it does its work."""
    auto_config: Any = module.AutoConfig
    original = auto_config.__dict__["from_pretrained"]

    def from_pretrained(cls: type, *args: Any, **kwargs: Any) -> Any:
        auto_config.from_pretrained = original
        importlib.import_module(MODELS_MODULE)
        return original.__get__(None, cls)(*args, **kwargs)

    if MODELS_MODULE not in sys.modules:
        auto_config.from_pretrained = classmethod(from_pretrained)


class _ConfigModuleFinder:
    """Finds the module of `AutoConfig` where it lies, and arms the class once the module ran."""

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
