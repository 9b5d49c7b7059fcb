import json
import urllib.error
import urllib.request

import pytest

from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.limited import MOST_BYTES
from tests.space.browser import app as served

pytest.importorskip("gradio", reason="gradio is in the extra space")


@pytest.fixture
def app(space):
    return space.load("app")


def asked(app, **query):
    """Return the updates of the page similarity: three fields and the answer."""
    return list(app.from_link(app.pages(), query)[1:5])


def is_left(update):
    return isinstance(update, dict) and set(update) == {"__type__"}


def test_pages_without_a_model_are_hidden(app, monkeypatch):
    assert [page.name for page in app.pages()][3:] == ["paraphrase"]
    monkeypatch.setattr(app, "STYLE", "runs/bgt")
    monkeypatch.setattr(app, "find_spec", lambda name: None)
    monkeypatch.setattr(app.answers, "style_languages", lambda name: ["en", "fr"])
    assert [page.name for page in app.pages()][3:] == ["style"]


def test_every_example_is_answered(app):
    for page in app.pages():
        for example in page.examples:
            kept = [f.read(str(v)) for f, v in zip(page.fields.values(), example, strict=True)]
            assert kept == list(example)
            assert "<td" in page.answer(*example) or "cosine" in page.answer(*example)


def test_a_link_fills_the_fields_and_runs(app):
    updates = asked(app, tab="similarity", a="a cat", b="the cat", model="english")
    assert updates[:3] == ["a cat", "the cat", "english"]
    assert "cosine" in updates[3]


def test_a_link_cannot_load_another_model(app):
    updates = asked(app, tab="similarity", a="a cat", b="the cat", model="someone/evil")
    assert updates[:2] == ["a cat", "the cat"]
    assert is_left(updates[2])
    assert is_left(updates[3])


@pytest.mark.parametrize("query", [{}, {"tab": "none"}, {"tab": "nearest", "a": "cat"}])
def test_other_links_leave_the_page_unchanged(app, query):
    assert all(map(is_left, asked(app, **query)))


@pytest.mark.parametrize(
    ("given", "kept"),
    [("3", 3), ("50", 50), ("0", None), ("51", None), ("x", None), ("9" * 9, None)],
)
def test_numbers_in_links_are_bounded(app, given, kept):
    assert app.Count("how many", 50).read(given) == kept


def test_errors_are_shown_on_the_page(app):
    with pytest.raises(DataError) as refused:
        app.answers.similarity("", "", "english")
    page = app.answered(app.answers.similarity)("", "", "english")
    assert page == app.drawing.error(str(refused.value))


@pytest.mark.slow
def test_large_requests_are_rejected():
    line = "a cat sleeps " * 100
    with served() as address:
        for lines, status in ((100, 200), (MOST_BYTES // len(line) + 1, 413)):
            body = json.dumps({"data": ["a cat", f"{line}\n" * lines, "english", 1]}).encode()
            pieces = (body[start : start + 2**16] for start in range(0, len(body), 2**16))
            for content in (body, pieces):  # pieces have no Content-Length
                assert posted(f"{address}gradio_api/call/nearest", content) == status


def posted(address, content):
    """Return the HTTP status of a request, or 413 if the server closes the connection."""
    request = urllib.request.Request(address, content, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except (urllib.error.URLError, ConnectionError):
        return 413
