"""Commands that write several files lock their output folder."""

import pytest

from paraphrastic_hf.cli.main import build_parser, main
from paraphrastic_hf.errors import BusyError
from paraphrastic_hf.io.locks import locked

COMMANDS = {
    "evaluate": "evaluate english",
    "report": "report results",
    "compare": "compare --systems a.txt b.txt --references c.txt",
    "attack": "attack classifier examples.tsv --paraphrases p.tsv",
    "analyze": "analyze norms english",
    "convert": "convert vectors.txt",
    "pack": "pack english",
    "data export": "data export sts",
    "corpus sample": "corpus sample corpus",
    "corpus tenths": "corpus tenths corpus --score score",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_an_output_folder_is_locked(command, tmp_path):
    output = tmp_path / "out"
    words = [*command.split(), "--output", str(output)]
    with locked(output):
        (output / "first").write_text("results of the first command")
        arguments = build_parser([words[0]]).parse_args(words)
        with pytest.raises(BusyError):
            arguments.run(arguments)
        assert [path.name for path in output.iterdir()] == ["first"]


def test_a_refused_command_leaves_no_folder(tmp_path):
    output = tmp_path / "out"
    assert main(["evaluate", str(tmp_path / "none"), "--output", str(output)]) == 2
    assert not output.exists()
