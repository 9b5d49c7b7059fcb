"""`paraphrastic translate` with any encoder-decoder."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path

import pytest

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.cli.shared.writing import print_written
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.generation.writing import GeneratedText
from tests.generation.seq2seq import save_marian
from tests.texts import SENTENCES


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("marian")
    save_marian(folder)
    return str(folder)


def run(*arguments: str) -> int:
    return main(["translate", *arguments])


def test_every_line_has_its_translation_in_its_place(model: str, tmp_path: Path) -> None:
    lines = [SENTENCES[0], "", SENTENCES[1], " ", SENTENCES[2]]
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run(model, str(source), "--output", str(output), "--beams", "2", "--quiet") == 0
    written = output.read_text(encoding="utf-8").split("\n")
    wanted = Translator.from_pretrained(model).translate(lines, beams=2, max_tokens=100)
    assert written == [*(each[0].text for each in wanted), ""]
    assert written[1] == written[3] == ""
    assert written[0]


def test_an_n_best_list_has_the_lines_numbers_and_scores(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.txt"
    source.write_text(f"{SENTENCES[0]}\n{SENTENCES[1]}\n", encoding="utf-8")
    for more in (["--beams", "3"], ["--sample", "--top-p", "1"]):
        assert run(model, str(source), "--outputs", "3", "--max-tokens", "6", *more) == 0
        rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
        assert [row[0] for row in rows] == ["1"] * 3 + ["2"] * 3
        assert all(float(row[1]) < 0 for row in rows)


def test_lines_of_standard_input_are_translated_as_they_come(
    model: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reader, writer = os.pipe()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(os.fdopen(reader, "rb")))
    written, printed = threading.Event(), []

    class Output(io.StringIO):
        def flush(self) -> None:
            printed.append(self.getvalue())
            written.set()

    monkeypatch.setattr(sys, "stdout", Output())
    thread = threading.Thread(
        target=run, args=(model, "-", "--max-tokens", "5", "--beams", "1", "--quiet")
    )
    thread.start()
    with os.fdopen(writer, "w") as pipe:
        pipe.write("a cat\n")
        pipe.flush()
        assert written.wait(60)  # although the pipe is open
        assert printed[0].count("\n") == 1
        pipe.write("a dog\n\nthe")
    thread.join(60)
    assert printed[-1].count("\n") == 4
    sys.stdin.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "fr"], "writes one language"),
        (["--from", "en"], "told no source language"),
        (["--outputs", "9", "--beams", "5"], "9 sentences from each text need as many"),
        (["--output", "/dev/null/x"], "cannot write /dev/null/x"),
        (["--output", os.curdir], "is a folder; name a file to write"),
    ],
)
def test_what_a_model_cannot_do_is_named(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    source = tmp_path / "in.txt"
    source.write_text("a cat\n", encoding="utf-8")
    assert run(model, str(source), *options) == 2
    assert message in capsys.readouterr().err


def test_line_ends_that_a_model_writes_are_spaces(capsys: pytest.CaptureFixture[str]) -> None:
    print_written(sys.stdout, 7, [[GeneratedText("a\nb\tc", -0.5), GeneratedText("d\u2028", -1)]])
    assert capsys.readouterr().out == "7\t-0.5000\ta b c\n7\t-1.0000\td\n"


@pytest.mark.parametrize("damage", ["weights", "tokens", "end"])
def test_what_cannot_write_is_refused_at_loading(
    model: str, tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    translator = Translator.from_pretrained(model)
    if damage == "weights":
        translator.model.model.encoder.layers[0].fc1.weight.data[0, 0] = float("nan")
    elif damage == "tokens":
        rows = len(translator.tokenizer) - 1
        translator.model.resize_token_embeddings(rows)
    else:
        translator.model.generation_config.eos_token_id = 5
    translator.model.save_pretrained(tmp_path / "model")
    translator.tokenizer.save_pretrained(tmp_path / "model")
    source = tmp_path / "in.txt"
    source.write_text("a cat\n", encoding="utf-8")
    assert run(str(tmp_path / "model"), str(source)) == 2
    wanted = {
        "weights": "model.encoder.layers.0.fc1.weight has NaN or infinite numbers",
        "tokens": "is of another model: it has",
        "end": "is of another model: its eos token is",
    }
    assert wanted[damage] in capsys.readouterr().err


def test_an_encoder_does_not_translate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.txt"
    source.write_text("a cat\n", encoding="utf-8")
    assert run("english", str(source)) == 2
    assert "paraphrastic-averaging" in capsys.readouterr().err
