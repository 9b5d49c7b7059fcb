import os
from pathlib import Path

import pytest

from tests.evaluation.sts_files import write_lines, write_sts


@pytest.fixture(scope="session")
def official():
    """The `eval` folder of the official files."""
    if "PARAPHRASTIC_DATA" not in os.environ:
        pytest.skip("PARAPHRASTIC_DATA is not set")
    return Path(os.environ["PARAPHRASTIC_DATA"]) / "eval"


@pytest.fixture
def sts_folder(tmp_path):
    """An `eval` folder with tiny STS files."""
    return write_sts(tmp_path / "data" / "eval")


@pytest.fixture
def retrieval_folder(tmp_path):
    """Two languages of Tatoeba, and BUCC where translations are reversed words."""
    words = ["apple bread", "chair door", "eagle fox", "green hat", "iron jug", "kite lamp"]
    for language in ("spa", "deu"):
        stem = tmp_path / "eval" / "tatoeba" / "v1" / f"tatoeba.{language}-eng"
        write_lines(stem.with_name(f"{stem.name}.{language}"), [w[::-1] for w in words])
        write_lines(stem.with_name(f"{stem.name}.eng"), words)
    bucc = tmp_path / "eval" / "bucc2018_zh-en"
    more = ["moon night", "old pear", "quick rat", "sun tin"]
    write_lines(bucc / "zh-en.dev.zh", [f"zh-{i}\t{w[::-1]}" for i, w in enumerate(words + more)])
    write_lines(bucc / "zh-en.dev.en", [f"en-{i}\t{w}" for i, w in enumerate(words)])
    write_lines(bucc / "zh-en.dev.gold", [f"zh-{i}\ten-{i}" for i in range(len(words))])
    return tmp_path / "eval"
