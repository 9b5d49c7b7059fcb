import ast
from pathlib import Path

import pytest
import torch

from paraphrastic_hf.io.remote_code import make_relative, write_remote_code
from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer

CLASSES = [AveragingModel, CharNgramTokenizer]


def imported(path: Path) -> set[tuple[int, str]]:
    """Number of dots and module of every import in a file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found.add((node.level, str(node.module)))
        elif isinstance(node, ast.Import):
            found.update((0, alias.name) for alias in node.names)
    return found


def test_an_import_becomes_relative_by_hand():
    source = "import os\nfrom paraphrastic_hf.text.ragged import Ragged\n"
    expected = "import os\nfrom .paraphrastic_text_ragged import Ragged\n"
    assert make_relative(source) == (expected, ("paraphrastic_hf.text.ragged",))


@pytest.mark.parametrize("cls", CLASSES)
def test_the_files_define_the_class_and_need_only_each_other(cls, tmp_path):
    module, name = write_remote_code(cls, tmp_path).split(".")
    assert write_remote_code(cls, tmp_path) == f"{module}.{name}"
    tree = ast.parse((tmp_path / f"{module}.py").read_text(encoding="utf-8"))
    assert name in [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    written = {path.stem for path in tmp_path.iterdir()}
    for path in tmp_path.iterdir():
        for dots, needed in imported(path):
            assert not needed.startswith("paraphrastic_hf"), path.name
            assert dots == 0 or needed in written, f"{path.name} needs {needed}"


def test_a_foreign_class_has_no_code(tmp_path):
    class Mine(AveragingModel):
        pass

    Mine.__module__ = "__main__"
    assert write_remote_code(Mine, tmp_path) is None
    model = Mine(AveragingConfig(vocab_size=5, hidden_size=2))
    model.save_pretrained(tmp_path / "model")
    again = AveragingModel.from_pretrained(tmp_path / "model")
    assert torch.equal(again.embedding.weight, model.embedding.weight)
