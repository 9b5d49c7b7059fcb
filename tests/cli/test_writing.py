"""The commands that write: translate, reconstruct, transfer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.generation import latent
from paraphrastic_hf.generation.latent import LatentGenerator
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.generation.writing import GenerationOptions
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import load_recipe

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that has seen little, and writes something."""
    folder = tmp_path_factory.mktemp("writing")
    source = ROOT / "recipes" / "default" / "en-fr.tsv"
    settings = ["--sources", f"{{path: {source}, languages: [en, fr]}}", "--epochs", "20"]
    recipe = load_recipe(ROOT / "recipes" / "bilingual-generative-2020" / "smoke.yaml", settings)
    train(recipe, folder / "model", progress=False)
    return str(folder / "model")


def run(*arguments: str) -> int:
    return main(list(arguments))


def test_a_line_is_written_for_every_line(
    model: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("the cat sleeps on the wall\n\nzzz qqq\nmy sister\n", encoding="utf-8")
    assert run("translate", model, str(lines), "--to", "fr", "--max-tokens", "9") == 0
    assert (
        "for 1 of the lines with text an empty one was written, such as for line 3" in caplog.text
    )
    written = capsys.readouterr().out.split("\n")
    assert len(written) == 5
    assert written[1] == written[2] == written[4] == ""
    assert written[0]
    output = tmp_path / "out.txt"
    options = ["--language", "en", "--output", str(output), "--max-tokens", "9"]
    assert run("reconstruct", model, str(lines), *options) == 0
    assert output.read_text(encoding="utf-8").count("\n") == 4


def test_several_sentences_stand_with_their_lines_number_and_score(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("the cat sleeps\nthe red car\n", encoding="utf-8")
    options = ["--to", "fr", "--outputs", "2", "--beams", "3", "--max-tokens", "6"]
    assert run("translate", model, str(lines), *options) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "2", "2"]
    assert float(rows[0][1]) >= float(rows[1][1])


def test_a_style_file_of_another_length_is_named(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, style = tmp_path / "source.txt", tmp_path / "style.txt"
    source.write_text("the cat sleeps\nthe red car\n", encoding="utf-8")
    style.write_text("my sister bought a red car\n", encoding="utf-8")
    files = ["--source", str(source), "--style", str(style), "--language", "en"]
    assert run("transfer", model, *files) == 2
    assert f"{style} ends before line 2 of the other file" in capsys.readouterr().err
    style.write_text("my sister bought a red car\nthe cat\n", encoding="utf-8")
    assert run("transfer", model, *files, "--sample", "--seed", "3", "--max-tokens", "6") == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


MBR = ["--to", "fr", "--outputs", "2", "--decode", "mbr"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "de"], "translates into en, fr, not 'de'"),
        ([], "translates into en, fr, name one of them"),
        (
            ["--to", "fr", "--outputs", "9", "--beams", "5"],
            "9 sentences from each text need as many",
        ),
        (["--to", "fr", "--top-p", "0.5"], "--top-p is for draws: add --sample"),
        (["--to", "fr", "--metric", "bleu"], "--metric is for --decode mbr"),
        (["--to", "fr", "--beams", "0"], "beams must be at least 1"),
        (["--to", "fr", "--sample", "--temperature", "0"], "temperature must be above 0"),
        (["--to", "fr", "--sample", "--beams", "3"], "--beams is for searching"),
        (
            [*MBR, "--metric", "bleu", "--metric-model", "english"],
            "--metric-model is for --metric simile and sim, got bleu",
        ),
        (["--to", "fr", "--output", ""], "--output is empty; name a file"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_way_out(
    options: list[str],
    message: str,
    model: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("the cat sleeps\n", encoding="utf-8")
    assert run("translate", model, str(lines), *options) == 2
    assert message in capsys.readouterr().err


def test_an_encoder_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("the cat sleeps\n", encoding="utf-8")
    assert run("translate", "english", str(lines), "--to", "fr") == 2
    assert "english" in capsys.readouterr().err
    assert run("reconstruct", "english", str(lines), "--language", "en") == 2
    assert "english" in capsys.readouterr().err


def test_a_text_without_a_line_gives_no_sentence(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    assert run("translate", model, str(empty), "--to", "fr") == 0
    assert "empty.txt has no line, and so no sentence" in capsys.readouterr().err
    files = ["--source", str(empty), "--style", str(empty)]
    assert run("transfer", model, *files, "--language", "en") == 0
    assert "empty.txt has no line, and so no sentence" in capsys.readouterr().err


@pytest.mark.parametrize(("second", "warnings"), [("the cat\tle chat", 1), ("the cat", 0)])
def test_a_table_is_noticed(
    second: str, warnings: int, model: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = tmp_path / "lines.tsv"
    lines.write_text(f"the cat sleeps\tle chat dort\n{second}\n", encoding="utf-8")
    assert run("translate", model, str(lines), "--to", "fr", "--max-tokens", "3") == 0
    assert caplog.text.count(f"cut -f1 {lines}") == warnings


@pytest.mark.parametrize(("language", "warnings"), [("en", 0), ("fr", 1)])
def test_a_style_in_another_language_is_noticed_once(
    language: str, warnings: int, model: str, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("py3langid")
    texts = ["the cat sleeps on the wall of the garden"] * 20
    generator = LatentGenerator.from_pretrained(model)
    for _ in range(2):
        generator.transfer(texts, texts, language=language, writing=GenerationOptions(max_tokens=2))
    assert caplog.text.count(f"looks like en and is read as {language}") == warnings


def test_damaged_and_endless_lines_keep_their_place(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A surrogate in UTF-8, NUL, unknown characters, 10,000 words, a megabyte of one word."""
    lines = tmp_path / "lines.txt"
    strange = [b"the cat \xed\xa0\x80 sleeps", b"the\0cat", "\u4e16\u754c".encode()]
    strange += [b"the cat " * 5_000, b"x" * 2**20, b"the cat"]
    lines.write_bytes(b"\n".join(strange) + b"\n")
    assert run("translate", model, str(lines), "--to", "fr", "--max-tokens", "4", "--quiet") == 0
    found = capsys.readouterr()
    is_written = [bool(line) for line in found.out.split("\n")[:-1]]
    assert is_written == [True, True, False, True, False, True]
    assert "2 lines are damaged by bytes that are not UTF-8 or are NUL (1, 2)" in found.err
    files = ["--source", str(lines), "--style", str(lines), "--language", "en", "--quiet"]
    assert run("transfer", model, *files, "--max-tokens", "4") == 0
    assert [bool(line) for line in capsys.readouterr().out.split("\n")[:-1]] == is_written


def test_a_text_is_read_as_far_as_is_said(
    model: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What attends takes the square of a text's length in time."""
    monkeypatch.setattr(latent, "MOST_READ", 3)
    generator = LatentGenerator.from_pretrained(model)
    ids = generator.tokenizer.encode_batch(["the cat sleeps in the house", "the"])
    means = generator._means("semantic", ids)
    assert "1 text cut: of a text its first 3 tokens are read" in caplog.text
    torch.testing.assert_close(means, generator._means("semantic", ids.select(np.arange(2), 3)))


@pytest.mark.parametrize(
    "writing",
    [GenerationOptions(beams=1), GenerationOptions(sample=True, outputs=2), GenerationOptions()],
)
def test_what_is_written_has_the_score_of_its_tokens(
    model: str, writing: GenerationOptions
) -> None:
    generator = LatentGenerator.from_pretrained(model)
    for written in generator.translate(["the cat sleeps"], to="fr", writing=writing)[0]:
        latent = generator.model.latent_of("translate_fr", *_tensors(generator, "the cat sleeps"))
        begin = generator.model.generation_config.decoder_start_token_id
        ids = torch.tensor([[begin, *written.ids]])
        logits = generator.model(
            encoder_outputs=(latent[:, None],), decoder_input_ids=ids[:, :-1], task="translate_fr"
        ).logits
        of_each = logits.log_softmax(-1)[0].gather(1, ids[0, 1:, None])
        assert written.nats == pytest.approx(of_each.mean().item(), abs=1e-5)


def _tensors(generator: LatentGenerator, text: str) -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.from_numpy(generator.tokenizer.encode_batch([text]).ids).long()[None]
    return ids, torch.ones_like(ids)


def test_a_model_of_several_tasks_is_no_translator(model: str) -> None:
    with pytest.raises(
        ModelError, match=r"writes several languages .*`paraphrastic translate --to"
    ):
        Translator.from_pretrained(model)
