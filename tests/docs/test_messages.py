import ast
from pathlib import Path

import paraphrastic_hf
from paraphrastic_hf.errors import Interrupted, ParaphrasticError

SOURCE = Path(paraphrastic_hf.__file__).parent


def names(kind):
    yield kind.__name__
    for each in kind.__subclasses__():
        yield from names(each)


def raised(path):
    """Yield the exceptions that a file raises, as calls or bare classes."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call | ast.Name):
            yield node.exc


def test_every_error_has_a_message():
    own, seen = {*names(ParaphrasticError), Interrupted.__name__}, set()
    for path in SOURCE.rglob("*.py"):
        for error in raised(path):
            name = ast.unparse(error.func if isinstance(error, ast.Call) else error)
            if name in own:
                assert isinstance(error, ast.Call), f"{path}:{error.lineno}"
                assert error.args, f"{path}:{error.lineno}"
                seen.add(name)
    assert {"RecipeError", "DataError", "ModelError"} <= seen
