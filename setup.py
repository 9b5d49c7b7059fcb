"""The compiled parts, which are optional: without a compiler all works, but more slowly."""

import os
from glob import glob

from setuptools import Extension, setup


def extension(folder: str, name: str) -> Extension:
    """One C file with the headers beside it."""
    source = f"src/paraphrastic_hf/{folder}"
    return Extension(
        f"paraphrastic_hf.{folder}.{name}",
        [f"{source}/{name}.c"],
        depends=glob(f"{source}/*.h"),
        extra_compile_args=[] if os.name == "nt" else ["-O3", "-fno-math-errno"],
        optional=True,
        py_limited_api=True,  # one wheel for Python 3.11 and all later ones
    )


setup(
    ext_modules=[extension("encoding", "_words"), extension("training", "_rows")],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
