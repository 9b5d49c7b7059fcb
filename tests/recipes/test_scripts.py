import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted([*ROOT.glob("recipes/*/*.py"), *ROOT.glob("benchmarks/**/*.py")])


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_imports_of_scripts_exist(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("paraphrastic_hf"):
            if str(node.module).startswith("paraphrastic_hf.integrations."):
                continue  # needs the library that it is named after (tests/integrations)
            module = importlib.import_module(str(node.module))
            for each in node.names:
                if not hasattr(module, each.name):  # a module of its own
                    importlib.import_module(f"{node.module}.{each.name}")
