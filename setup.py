"""The compiled part, which is optional: without a compiler all works, encoding more slowly."""

import os
from glob import glob

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "paraphrastic_hf.encoding._words",
            ["src/paraphrastic_hf/encoding/_words.c"],
            depends=glob("src/paraphrastic_hf/encoding/*.h"),
            extra_compile_args=[] if os.name == "nt" else ["-O3"],
            optional=True,
            py_limited_api=True,  # one wheel for Python 3.11 and all later ones
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
