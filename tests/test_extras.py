"""Extras install the packages in `extras.py`, errors name the missing extra, and public names load
lazily."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import paraphrastic_hf
from paraphrastic_hf.errors import MissingExtraError
from paraphrastic_hf.extras import EXTRAS, missing_extra, require
from paraphrastic_hf.models import GENERATIVE, SENTENCE_TASKS

ROOT = Path(__file__).parents[1]
SOURCE = Path(paraphrastic_hf.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DISTRIBUTIONS = {
    "yaml": "pyyaml",
    "google": "protobuf",
    "faiss": "faiss-cpu",
    "lance": "pylance",
}  # else of one name
ELSEWHERE = {"sklearn": "encoder.py"}  # only scikit-learn calls the method that imports it


def distribution(package):
    return DISTRIBUTIONS.get(package, package.replace("_", "-"))


def names(requirements):
    return {re.split(r"[\[<>=]", requirement)[0] for requirement in requirements}


def imports(path):
    """Packages that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
    return found - set(sys.stdlib_module_names) - {"paraphrastic_hf"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_installs_its_packages(extra):
    brought = names(PROJECT["optional-dependencies"][extra])
    assert {distribution(package) for package in EXTRAS[extra]} <= brought


def test_every_imported_package_belongs_to_the_core_or_an_extra():
    core = names(PROJECT["dependencies"])
    known = {package for packages in EXTRAS.values() for package in packages}
    for path in set(SOURCE.rglob("*.py")) - set(SOURCE.glob("integrations/*.py")):
        for package in imports(path) - known:
            if ELSEWHERE.get(package) != path.name:
                assert distribution(package) in core, f"{path} imports {package}"


def test_extras_build_on_each_other():
    extras = PROJECT["optional-dependencies"]
    for requirements in extras.values():
        for requirement in requirements:
            if requirement.startswith("paraphrastic-hf["):
                assert set(requirement[len("paraphrastic-hf[") : -1].split(",")) <= set(extras)
    assert set(extras) - {"dev"} == set(EXTRAS)


def test_missing_packages_are_named_with_their_extra():
    require("train", "numpy", what="training")
    with pytest.raises(MissingExtraError) as caught:
        require("train", "numpy", "absent1", "absent2", what="training")
    assert isinstance(caught.value, ImportError)
    assert missing_extra(caught.value) is caught.value


@pytest.mark.parametrize("name", ["absent", "paraphrastic_hf.absent", None])
def test_a_module_of_no_extra_is_not_explained(name):
    assert missing_extra(ModuleNotFoundError(name=name)) is None


# Encoders are found by their kind (`models/families.py`), so that they need no public name.
MODELS = [
    *(model.__name__ for model in (*GENERATIVE, *SENTENCE_TASKS)),
    *("TaggerModel", "ParserModel", "LanguageModel", "GatedConvModel", "ParaphraserModel"),
    "ScpnModel",
]
LAZY = """
import sys
import paraphrastic_hf
assert {"train", "evaluate", "SentenceEncoder"} <= set(dir(paraphrastic_hf))
assert not {"numpy", "torch", "transformers", "datasets", "sklearn"} & set(sys.modules)
"""


@pytest.mark.parametrize("name", paraphrastic_hf.__all__)
def test_a_public_name_is_listed_and_can_be_imported(name):
    assert name in dir(paraphrastic_hf)
    assert getattr(paraphrastic_hf, name) is not None


@pytest.mark.parametrize("name", MODELS)
def test_every_model_and_its_configuration_is_public(name):
    config = getattr(paraphrastic_hf, name).config_class
    assert getattr(paraphrastic_hf, config.__name__) is config


def test_the_package_imports_no_slow_library():
    subprocess.run([sys.executable, "-c", LAZY], check=True, timeout=60)
