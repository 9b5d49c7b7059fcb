"""Each extra brings what `extras.py` says, and what is missing is named with the line that installs
it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import paraphrastic_hf
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.errors import MissingExtraError
from paraphrastic_hf.extras import EXTRAS, missing_extra, require

ROOT = Path(__file__).parents[1]
SOURCE = Path(paraphrastic_hf.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DISTRIBUTIONS = {"yaml": "pyyaml", "google": "protobuf", "faiss": "faiss-cpu"}  # else of one name
ELSEWHERE = {
    "sklearn": "encoder.py",  # only scikit-learn itself asks for its tags
}


def distribution(package: str) -> str:
    return DISTRIBUTIONS.get(package, package.replace("_", "-"))


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=]", requirement)[0] for requirement in requirements}


def imports(path: Path) -> set[str]:
    """The packages that a file imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
    return found - set(sys.stdlib_module_names) - {"paraphrastic_hf"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_brings_what_it_is_said_to(extra: str) -> None:
    brought = names(PROJECT["optional-dependencies"][extra])
    assert {distribution(package) for package in EXTRAS[extra]} <= brought


def test_every_package_that_is_imported_is_of_the_core_or_of_an_extra() -> None:
    core = names(PROJECT["dependencies"])
    known = {package for packages in EXTRAS.values() for package in packages}
    for path in SOURCE.rglob("*.py"):
        for package in imports(path) - known:
            if ELSEWHERE.get(package) != path.name:
                assert distribution(package) in core, f"{path} imports {package}"


def test_extras_build_on_each_other() -> None:
    extras = PROJECT["optional-dependencies"]
    for requirements in extras.values():
        for requirement in requirements:
            if requirement.startswith("paraphrastic-hf["):
                assert set(requirement[len("paraphrastic-hf[") : -1].split(",")) <= set(extras)
    assert set(extras) - {"dev"} == set(EXTRAS)


def test_what_is_missing_is_named_with_the_extra_that_brings_it() -> None:
    require("train", "numpy", what="training")
    with pytest.raises(MissingExtraError, match=r"training needs absent1, absent2, not") as caught:
        require("train", "numpy", "absent1", "absent2", what="training")
    assert "pip install 'paraphrastic-hf[train]'" in str(caught.value)
    assert isinstance(caught.value, ImportError)
    assert missing_extra(caught.value) is caught.value


def test_a_module_that_no_extra_brings_is_not_explained() -> None:
    assert missing_extra(ModuleNotFoundError(name="absent")) is None
    assert missing_extra(ModuleNotFoundError(name="paraphrastic_hf.absent")) is None
    assert missing_extra(ModuleNotFoundError("no name")) is None


def test_a_command_names_its_extra_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from paraphrastic_hf.cli import score

    def run(arguments: object) -> None:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(score, "run", run)
    assert main(["score", "english", "-"]) == 2
    message = "torch is not installed here; pip install 'paraphrastic-hf[train]'"
    assert capsys.readouterr().err == f"paraphrastic score: {message}\n"


def test_a_command_with_a_mistake_in_its_imports_is_not_excused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from paraphrastic_hf.cli import score

    def run(arguments: object) -> None:
        raise ModuleNotFoundError("No module named 'absent'", name="absent")

    monkeypatch.setattr(score, "run", run)
    with pytest.raises(ModuleNotFoundError, match="absent"):
        main(["score", "english", "-"])
