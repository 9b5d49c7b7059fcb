"""A fixture for the commands of corpora."""

import pytest

from paraphrastic_hf.cli.main import main


@pytest.fixture
def refused(capsys):
    """Run a command that must end with an error of one line, and return it."""

    def run(*command):
        capsys.readouterr()
        assert main([*map(str, command)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return error

    return run
