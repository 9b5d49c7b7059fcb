"""Public names document their arguments, shapes of arrays and errors, and long calls have an
example. Names in `layers` and `losses` state the shape of their result."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import paraphrastic_hf

SOURCE = Path(paraphrastic_hf.__file__).parent
WHOLE = ("layers", "losses")  # all names. In models only `forward`, elsewhere exported names.
SHORT = {"docstring", "no argument", "shape of result"}  # what names in `WHOLE` need
EXPORTED = {
    name: SOURCE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    for name, module in paraphrastic_hf._PUBLIC.items()
}
MODULES = sorted(
    {path for folder in (*WHOLE, "models") for path in (SOURCE / folder).glob("[!_]*.py")}
    | set(EXPORTED.values())
)
SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Example):\n", re.MULTILINE)
SHAPE = re.compile(r"\((?!thesis)[\w .*+/-]*,[\w .,*+/-]*\)|[Ss]calar|any shape|shape given")
Definition = ast.FunctionDef | ast.ClassDef


def functions(node):
    return {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}


def public(path):
    """Yield the public names of a module with their definitions, and for methods the class."""
    body = ast.parse(path.read_text()).body
    nodes = [node for node in body if isinstance(node, Definition)]
    classes = {node.name: functions(node) for node in nodes if isinstance(node, ast.ClassDef)}
    for node in nodes:
        is_whole = path.parent.name in WHOLE or EXPORTED.get(node.name) == path
        if node.name.startswith("_"):
            continue
        if is_whole:
            yield node.name, node, None
        if not isinstance(node, ast.ClassDef):
            continue
        inherited = {name for base in node.bases for name in classes.get(ast.unparse(base), ())}
        for name, method in functions(node).items():
            is_full = is_whole and path.relative_to(SOURCE).parts[0] != "models"
            is_asked = not name.startswith("_") if is_full else name == "forward"
            if is_asked and (name not in inherited or ast.get_docstring(method)):
                yield f"{node.name}.{name}", method, node


def parameters(node):
    """Return the parameters of a call, or the fields of a record, with their annotations."""
    if isinstance(node, ast.ClassDef) and "__init__" in functions(node):
        return parameters(functions(node)["__init__"])
    if isinstance(node, ast.ClassDef):
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        found = {ast.unparse(each.target): each.annotation for each in fields}
    else:
        every = [*node.args.args, *node.args.kwonlyargs]
        found = {each.arg: each.annotation for each in every if each.annotation}
    return {name: ast.unparse(kind) for name, kind in found.items() if name[0] != "_"}


def entries(section):
    """Return the text about each name in a section."""
    parts = re.split(r"^    (\*{0,2}\w+): ", section, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def faults(node, owner=None):
    """Yield everything that a docstring lacks, as section and item."""
    docstring = ast.get_docstring(node) or ""
    if not docstring:
        yield "docstring", node.name
    split = ["", *SECTION.split(inspect.cleandoc(docstring))]
    parts = dict(zip(split[::2], split[1::2], strict=True))
    given, told = parameters(node), entries(parts.get("Args", ""))
    yield from (("no argument", name) for name in set(told) - set(given) if name[0] != "*")
    told |= entries(parts.get("Attributes", ""))
    for name, kind in given.items():
        text = told.get(name, docstring if len(given) == 1 else "")
        if not text:
            yield "Args", name
        elif re.search("Tensor|ndarray", kind) and not SHAPE.search(text):
            yield "shape", name
    rest = "".join(text for name, text in parts.items() if name != "Args")
    returned = isinstance(node, ast.FunctionDef) and ast.unparse(node.returns or ast.Constant(None))
    if returned and re.search("Tensor|ndarray", returned) and not SHAPE.search(rest):
        yield "shape of result", node.name
    call = functions(node).get("__init__") if isinstance(node, ast.ClassDef) else node
    examples = docstring + ((owner and ast.get_docstring(owner)) or "")
    if call and len(given) > 3 and "Example:\n" not in examples:
        yield "Example", node.name
    for raised in (n for n in ast.walk(call or ast.Pass()) if isinstance(n, ast.Raise)):
        error = ast.unparse(raised.exc.func) if isinstance(raised.exc, ast.Call) else ""
        if error[:1].isupper() and error not in parts.get("Raises", ""):
            yield "Raises", error


NAMES = [
    pytest.param(node, owner, path.parent.name in WHOLE, id=f"{path.stem}:{name}")
    for path in MODULES
    for name, node, owner in public(path)
]


@pytest.mark.parametrize(("node", "owner", "is_short"), NAMES)
def test_docstrings_of_public_names_are_complete(node, owner, is_short):
    found = list(faults(node, owner))
    assert not [fault for fault in found if not is_short or fault[0] in SHORT]
