"""Commands of `paraphrastic`, run in this process."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from paraphrastic_hf.cli.main import main


class Printed(NamedTuple):
    out: str
    err: str


Run = Callable[..., Printed]


@pytest.fixture
def run(capsys):
    """Run a command of the given words, which must end with `status`; return what it prints."""

    def run(*words, status=0):
        capsys.readouterr()
        try:
            ended = main([str(word) for word in words])
        except SystemExit as stop:
            ended = int(stop.code or 0)
        printed = Printed(*capsys.readouterr())
        assert ended == status, printed
        assert "Traceback" not in printed.err
        return printed

    return run
