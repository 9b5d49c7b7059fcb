"""`translate`, `reconstruct` and `transfer` with a generative model."""

from pathlib import Path

import numpy as np
import pytest
import torch

from paraphrastic_hf import GenerationOptions, LatentGenerator, load_recipe, train
from paraphrastic_hf.generation import latent

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A briefly trained model, whose output is not empty."""
    folder = tmp_path_factory.mktemp("writing")
    source = ROOT / "recipes" / "default" / "en-fr.tsv"
    settings = ["--sources", f"{{path: {source}, languages: [en, fr]}}", "--epochs", "20"]
    recipe = load_recipe(ROOT / "recipes" / "bilingual-generative-2020" / "smoke.yaml", settings)
    train(recipe, folder / "model", progress=False)
    return str(folder / "model")


@pytest.fixture
def lines(tmp_path):
    text = "the cat sleeps on the wall\n\nzzz qqq\nmy sister\n"
    (tmp_path / "lines.txt").write_text(text)
    return tmp_path / "lines.txt"


def written(text):
    return [bool(line) for line in text.split("\n")[:-1]]


def test_every_line_has_an_output_line(model, lines, tmp_path, run, caplog):
    output, short = tmp_path / "out.txt", ["--max-tokens", "9"]
    printed = run("translate", model, lines, "--to", "fr", *short).out
    assert written(printed) == [True, False, False, True]
    assert "line 3" in caplog.text
    run("reconstruct", model, lines, "--language", "en", "--output", output, *short)
    assert output.read_text().count("\n") == 4


def test_a_shorter_style_file_is_refused(model, lines, tmp_path, run):
    style = tmp_path / "style.txt"
    files = ["--source", lines, "--style", style, "--language", "en", "--max-tokens", "6"]
    style.write_text("my sister bought a red car\n")
    assert f"{style} " in run("transfer", model, *files, status=2).err
    style.write_text("my sister bought a red car\n" * 4)
    out = run("transfer", model, *files, "--sample", "--seed", "3").out
    assert out.count("\n") == 4


def test_an_empty_file_is_reported(model, tmp_path, run):
    empty = tmp_path / "empty.txt"
    empty.touch()
    assert "empty.txt" in run("translate", model, empty, "--to", "fr").err
    files = ["--source", empty, "--style", empty, "--language", "en"]
    assert "empty.txt" in run("transfer", model, *files).err


def test_strange_lines_keep_their_place(model, tmp_path, run):
    """A surrogate in UTF-8, NUL, unknown characters, 10,000 words, a megabyte of one word."""
    lines = tmp_path / "lines.txt"
    strange = [b"the cat \xed\xa0\x80 sleeps", b"the\0cat", "\u4e16\u754c".encode()]
    strange += [b"the cat " * 5_000, b"x" * 2**20, b"the cat"]
    lines.write_bytes(b"\n".join(strange) + b"\n")
    out, err = run("translate", model, lines, "--to", "fr", "--max-tokens", "4", "--quiet")
    assert written(out) == [True, True, False, True, False, True]
    assert "(1, 2)" in err
    files = ["--source", lines, "--style", lines, "--language", "en", "--quiet"]
    assert written(run("transfer", model, *files, "--max-tokens", "4").out) == written(out)


def test_long_texts_are_cut(model, monkeypatch, caplog):
    monkeypatch.setattr(latent, "MOST_READ", 3)
    generator = LatentGenerator.from_pretrained(model)
    ids = generator.tokenizer.encode_batch(["the cat sleeps in the house", "the"])
    means = generator._means("semantic", ids)
    assert len(caplog.records) == 1
    torch.testing.assert_close(means, generator._means("semantic", ids.select(np.arange(2), 3)))


@pytest.mark.parametrize(
    "writing",
    [GenerationOptions(beams=1), GenerationOptions(sample=True, outputs=2), GenerationOptions()],
)
def test_nats_are_the_mean_log_probability(model, writing):
    generator = LatentGenerator.from_pretrained(model)
    source = torch.from_numpy(generator.tokenizer.encode_batch(["the cat sleeps"]).ids).long()[None]
    for each in generator.translate(["the cat sleeps"], to="fr", writing=writing)[0]:
        vector = generator.model.latent_of("translate_fr", source, torch.ones_like(source))
        begin = generator.model.generation_config.decoder_start_token_id
        ids = torch.tensor([[begin, *each.ids]])
        logits = generator.model(
            encoder_outputs=(vector[:, None],), decoder_input_ids=ids[:, :-1], task="translate_fr"
        ).logits
        of_each = logits.log_softmax(-1)[0].gather(1, ids[0, 1:, None])
        assert each.nats == pytest.approx(of_each.mean().item(), abs=1e-5)
