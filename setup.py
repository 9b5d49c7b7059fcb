"""The compiled parts, which are optional: without a compiler all works, but more slowly. And the
recipes, which lie at the top of a checkout and within the package in a wheel."""

import os
import sysconfig
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

# Such a Python has no limited API, so its wheels are for one version.
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def extension(folder: str, name: str) -> Extension:
    """One C file with the headers beside it."""
    source = f"src/paraphrastic_hf/{folder}"
    return Extension(
        f"paraphrastic_hf.{folder.replace('/', '.')}.{name}",
        [f"{source}/{name}.c"],
        depends=glob(f"{source}/*.h"),
        extra_compile_args=[] if os.name == "nt" else ["-O3", "-fno-math-errno"],
        define_macros=[("Py_GIL_DISABLED", "1")] if FREE_THREADED else [],
        optional=True,
        py_limited_api=not FREE_THREADED,  # one wheel for Python 3.11 and all later ones
    )


class BuildWithRecipes(build_py):
    """Copies recipes, and the small texts they name, to where `packaged_recipes.py` looks. An
    editable install reads those of the checkout."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for pattern in ("*.yaml", "*.tsv"):
            for path in sorted(Path("recipes").glob(f"*/{pattern}")):
                target = Path(self.build_lib, "paraphrastic_hf", path)
                self.mkpath(str(target.parent))
                self.copy_file(str(path), str(target))


setup(
    ext_modules=[
        extension("encoders/static", "_words"),
        extension("metrics", "_windows"),
        extension("training/engine", "_rows"),
    ],
    cmdclass={"build_py": BuildWithRecipes},
    options={} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
