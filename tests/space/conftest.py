import importlib
import sys
from types import SimpleNamespace

import pytest

from tests.space.browser import SPACE

MODULES = ("drawing", "answers", "app")


@pytest.fixture
def space(monkeypatch):
    """Import the modules `drawing` and `answers` of the Space afresh, and `app` with
    `space.load("app")`."""
    monkeypatch.syspath_prepend(str(SPACE))
    for name in ("MODELS", "STYLE", "PARAPHRASER"):
        monkeypatch.delenv(f"PARAPHRASTIC_{name}", raising=False)
    yield SimpleNamespace(
        load=importlib.import_module, **{m: importlib.import_module(m) for m in MODULES[:2]}
    )
    for name in MODULES:
        sys.modules.pop(name, None)
