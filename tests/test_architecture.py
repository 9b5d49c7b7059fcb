"""Modules import only from folders to their left."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import paraphrastic_hf

SOURCE = Path(paraphrastic_hf.__file__).parent
ORDER = [
    {"errors", "extras", "registration", "paraphrastic_hf", "config", "io"},
    {"text"},
    {"syntax"},
    {"corpora"},
    {"layers"},
    {"losses"},
    {"models"},
    {"encoders"},
    {"predictors"},
    {"generation"},
    {"mining"},
    {"metrics"},
    {"evaluation"},
    {"hub"},
    {"training"},
    {"analyses", "pipelines"},
    {"conversion", "integrations", "sbert"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
FILES = {
    ".".join(("paraphrastic_hf", *path.with_suffix("").parts)).removesuffix(".__init__"): path
    for path in MODULES
}


def folder(module):
    """`paraphrastic_hf.text.word` -> `text`."""
    return [*module.split("."), "paraphrastic_hf"][1]


def imports(path):
    """Modules of this package that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse((SOURCE / path).read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found & FILES.keys()


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_imports_only_from_folders_to_its_left(path):
    if path.name == "__init__.py" and path.parent == Path("."):
        return  # public names are imported lazily
    own = path.parts[0].removesuffix(".py")
    for module in imports(path):
        assert LEVEL[folder(module)] <= LEVEL[own], f"{path} imports {module} from its right"


def test_the_import_graph_has_no_cycles():
    graph = {path: {FILES[name] for name in imports(path)} for path in MODULES}
    graph[FILES["paraphrastic_hf"]] = set()
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(map(str, reversed(error.args[1]))))


def test_texts_and_corpora_import_no_torch():
    for path in MODULES:
        if path.parts[0] in {"config", "io", "text", "syntax", "corpora"}:
            source = (SOURCE / path).read_text()
            assert "import torch" not in source, path
