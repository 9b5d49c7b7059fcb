"""Public names say what a caller needs: shapes of arrays, ranges of numbers, errors, the source,
and an example where a call is long."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import paraphrastic_hf

SOURCE = Path(paraphrastic_hf.__file__).parent
WHOLE = ("layers", "losses")  # of models only `forward`, elsewhere what is exported
CITING = ("layers", "losses", "metrics", "models")  # their modules name the paper they follow
EXPORTED = {
    name: SOURCE.joinpath(*module.split(".")[1:]).with_suffix(".py")
    for name, module in paraphrastic_hf._PUBLIC.items()
}
MODULES = sorted(
    {path for folder in (*WHOLE, "models") for path in (SOURCE / folder).glob("[!_]*.py")}
    | set(EXPORTED.values())
)
EXCEPTIONS: dict[str, str] = {}  # names that are not held to this, with the reason

SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Example):\n", re.MULTILINE)
SENTENCE = re.compile(r"[A-Z]\S*(\s+\S+){3,}[.]$")  # four words and a full stop
FRAGMENT = re.compile(r"(Of|As|Likewise|Those|Ditto|The same)\b")
SHAPE = re.compile(r"\((?!thesis)[\w .*+/-]*,[\w .,*+/-]*\)|[Ss]calar|any shape|shape given")
NUMBER = re.compile(r"\d|[Pp]ositive|[Nn]umber|[Hh]ow many|[Ss]eed|[Ss]hare|[Ll]east|[Mm]ost")
CITATION = re.compile(r"[Tt]hesis|(19|20)\d\d")

Definition = ast.FunctionDef | ast.ClassDef


def functions(node: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}


def public(path: Path) -> Iterator[tuple[str, Definition, ast.ClassDef | None]]:
    """The public names of a module with what defines them, and for a method its class."""
    nodes = [
        node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, Definition)
    ]
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


def parameters(node: Definition) -> dict[str, str]:
    """What a call gives, or the fields of a record, with their annotations."""
    if isinstance(node, ast.ClassDef) and "__init__" in functions(node):
        return parameters(functions(node)["__init__"])
    if isinstance(node, ast.ClassDef):
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        found = {ast.unparse(each.target): each.annotation for each in fields}
    else:
        found = {
            a.arg: a.annotation for a in [*node.args.args, *node.args.kwonlyargs] if a.annotation
        }
    return {name: ast.unparse(kind) for name, kind in found.items() if name[0] != "_"}


def entries(section: str) -> dict[str, str]:
    """What a section says of each name."""
    parts = re.split(r"^    (\*{0,2}\w+): ", section, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def faults(node: Definition, owner: ast.ClassDef | None = None) -> Iterator[str]:
    """Everything that a docstring leaves out."""
    docstring = ast.get_docstring(node) or ""
    split = ["", *SECTION.split(inspect.cleandoc(docstring))]
    parts = dict(zip(split[::2], split[1::2], strict=True))
    if not SENTENCE.match(parts[""].split("\n\n")[0].strip()):
        yield "begins with no sentence"
    given, told = parameters(node), entries(parts.get("Args", ""))
    yield from (f"tells of {n}, which is none" for n in set(told) - set(given) if n[0] != "*")
    told |= entries(parts.get("Attributes", ""))
    for name, kind in given.items():
        text = told.get(name, docstring if len(given) == 1 else "")
        if not text:
            yield f"does not say what {name} is"
        elif FRAGMENT.match(text):
            yield f"says of {name} what leans on another line"
        elif re.search("Tensor|ndarray", kind) and not SHAPE.search(text):
            yield f"does not give the shape of {name}"
        elif {"int", "float"} & set(kind.split(" | ")) and not NUMBER.search(text):
            yield f"does not give the unit or range of {name}"
    rest = "".join(text for name, text in parts.items() if name != "Args")
    returned = isinstance(node, ast.FunctionDef) and ast.unparse(node.returns or ast.Constant(None))
    if returned and re.search("Tensor|ndarray", returned) and not SHAPE.search(rest):
        yield "does not give the shape of what it returns"
    call = functions(node).get("__init__") if isinstance(node, ast.ClassDef) else node
    examples = docstring + ((owner and ast.get_docstring(owner)) or "")
    if call and len(given) > 3 and "Example:\n" not in examples:
        yield "has no example of a long call"
    for raised in (n for n in ast.walk(call or ast.Pass()) if isinstance(n, ast.Raise)):
        error = ast.unparse(raised.exc.func) if isinstance(raised.exc, ast.Call) else ""
        if error[:1].isupper() and error not in parts.get("Raises", ""):
            yield f"does not say when it raises {error}"


NAMES = [
    pytest.param(f"{path.parent.name}/{path.name}:{name}", node, owner, id=f"{path.stem}:{name}")
    for path in MODULES
    for name, node, owner in public(path)
]


@pytest.mark.parametrize(("name", "node", "owner"), NAMES)
def test_a_public_name_says_what_to_give_and_to_expect(
    name: str, node: Definition, owner: ast.ClassDef | None
) -> None:
    assert name in EXCEPTIONS or not list(faults(node, owner))


def test_modules_say_which_paper_they_follow() -> None:
    for path in (path for path in MODULES if path.parent.name in CITING):
        docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        assert CITATION.search(docstring) or f"{path.parent.name}/{path.name}" in EXCEPTIONS, path


def test_what_a_docstring_leaves_out_is_found() -> None:
    source = 'def scale(rows: Tensor, by: float, how: str, where: int) -> Tensor:\n    """Rows.\n\n'
    source += (
        "    Args:\n        rows: Of the table.\n        by: A factor.\n        how: One way.\n"
    )
    source += '    """\n    raise ValueError("no")\n'
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef)
    assert [fault.split()[-1] for fault in faults(node)] == [
        "sentence", "line", "by", "is", "returns", "call", "ValueError",
    ]  # fmt: skip
