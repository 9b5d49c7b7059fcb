"""`paraphrastic translate` with any encoder-decoder."""

import io
import os
import sys
import threading

import pytest

from paraphrastic_hf import GeneratedText, Translator
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.cli.shared.writing import print_written
from paraphrastic_hf.generation.bayes_risk import likelihood_weights, minimum_bayes_risk
from paraphrastic_hf.metrics.utilities import make_utility
from tests.generation.seq2seq import save_marian
from tests.texts import SENTENCES


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marian")
    save_marian(folder)
    return str(folder)


@pytest.fixture
def source(tmp_path):
    (tmp_path / "in.txt").write_text(f"{SENTENCES[0]}\n\n{SENTENCES[1]}\n \n")
    return tmp_path / "in.txt"


def test_translations_are_in_the_order_of_the_lines(model, source, tmp_path, run):
    output = tmp_path / "out.txt"
    run("translate", model, source, "--output", output, "--beams", "2", "--quiet")
    written = output.read_text().split("\n")
    lines = source.read_text().splitlines()
    wanted = Translator.from_pretrained(model).translate(lines, beams=2, max_tokens=100)
    assert written == [*(each[0].text for each in wanted), ""]
    assert [bool(line) for line in written] == [True, False, True, False, False]


@pytest.mark.parametrize("options", ["--beams 3", "--sample --top-p 1"])
def test_n_best_lists_have_line_numbers_and_scores(options, model, source, run):
    common = ["--outputs", "3", "--max-tokens", "6", *options.split()]
    rows = [line.split("\t") for line in run("translate", model, source, *common).out.splitlines()]
    scores = {number: [float(row[1]) for row in rows if row[0] == number] for number in "13"}
    assert all(len(found) == 3 and max(found) < 0 for found in scores.values())


def test_standard_input_is_translated_line_by_line(model, monkeypatch):
    reader, writer = os.pipe()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(os.fdopen(reader, "rb")))
    written, printed = threading.Event(), []

    class Output(io.StringIO):
        def flush(self):
            printed.append(self.getvalue())
            written.set()

    monkeypatch.setattr(sys, "stdout", Output())
    command = ["translate", model, "-", "--max-tokens", "5", "--beams", "1", "--quiet"]
    thread = threading.Thread(target=main, args=(command,))
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


def test_a_bilingual_model_takes_no_languages(model, source, run):
    assert "'fr'" in run("translate", model, source, "--to", "fr", status=2).err
    run("translate", model, source, "--from", "en", status=2)


def test_line_ends_in_the_output_become_spaces(capsys):
    print_written(sys.stdout, 7, [[GeneratedText("a\nb\tc", -0.5), GeneratedText("d\u2028", -1)]])
    assert capsys.readouterr().out == "7\t-0.5000\ta b c\n7\t-1.0000\td\n"


@pytest.mark.parametrize(
    ("damage", "named"),
    [("weights", "encoder.layers.0.fc1.weight"), ("rows", "tokenizer"), ("end", "eos")],
)
def test_damaged_models_are_refused_at_loading(damage, named, model, source, tmp_path, run):
    translator = Translator.from_pretrained(model)
    if damage == "weights":
        translator.model.model.encoder.layers[0].fc1.weight.data[0, 0] = float("nan")
    elif damage == "rows":
        translator.model.resize_token_embeddings(len(translator.tokenizer) - 1)
    else:
        translator.model.generation_config.eos_token_id = 5
    translator.model.save_pretrained(tmp_path / "model")
    translator.tokenizer.save_pretrained(tmp_path / "model")
    assert named in run("translate", tmp_path / "model", source, status=2).err


LINES = [*SENTENCES[:3], ""]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("mbr")
    save_marian(path / "model")
    (path / "in.txt").write_text("\n".join(LINES) + "\n")
    return path


def translated(run, folder, *options):
    common = ["--max-tokens", "12", "--quiet", "--decode", "mbr"]
    return run("translate", folder / "model", folder / "in.txt", *common, *options).out.split("\n")[
        :-1
    ]


@pytest.mark.parametrize("metric", ["simile", "chrf"])
@pytest.mark.parametrize("options", [["--beams", "6"], ["--sample", "--top-p", "1"]])
def test_mbr_prints_the_decision_of_minimum_bayes_risk(metric, options, folder, run):
    printed = translated(run, folder, "--metric", metric, "--outputs", "6", *options)
    translator = Translator.from_pretrained(folder / "model")
    sample = "--sample" in options
    lists = translator.translate(
        LINES, beams=6 if not sample else 5, outputs=6, sample=sample, max_tokens=12
    )
    expected = minimum_bayes_risk(
        [[each.text for each in one] for one in lists],
        make_utility(metric),
        weights=None if sample else [likelihood_weights(one) for one in lists],
    )
    assert printed == [decision.text for decision in expected]
    assert printed[3] == ""


def test_aggregate_is_exact_for_sim(folder, run):
    options = ["--metric", "sim", "--outputs", "5", "--sample"]
    assert translated(run, folder, *options, "--aggregate") == translated(run, folder, *options)
