"""`paraphrastic simile` and `paraphrastic compare` on files."""

import json
from pathlib import Path

import pytest

from paraphrastic_hf import SimileScorer
from tests.made import averaging
from tests.texts import SENTENCES

HYPOTHESES, OTHERS, REFERENCES = SENTENCES[:9], SENTENCES[9:18], SENTENCES[1:10]


@pytest.fixture
def folder(subword, tmp_path, monkeypatch):
    """A model and three files, in the working directory."""
    averaging(subword).save_pretrained(tmp_path / "model")
    for name, lines in (("hyp", HYPOTHESES), ("other", OTHERS), ("ref", REFERENCES)):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def simile(run, words, references="ref.txt"):
    options = ["-r", *references.split(), "--samples", "100"]
    return run("simile", "-m", "model", "-s", *words.split(), *options)


def found(folder):
    return list(json.loads((folder / "o.json").read_text()))


def test_a_table_has_a_line_per_system_and_the_signature(folder, run):
    out, err = simile(run, "hyp.txt")
    scores = SimileScorer(folder / "model").score(HYPOTHESES, REFERENCES)
    head, line, *rest = out.splitlines()
    assert head.split() == ["system", "SimiLE", "x", "100", "SIM", "x", "100"]
    assert line.startswith(f"hyp.txt  {100 * scores.score:.2f} [")
    assert f"  {100 * scores.sim_score:.2f} [" in line
    assert rest == ["", scores.signature]
    assert err == ""
    head, *lines = simile(run, "hyp.txt other.txt hyp.txt").out.splitlines()
    assert head.split() == ["system", "SimiLE", "x", "100", "p", "SIM", "x", "100", "p"]
    assert [line.split()[0] for line in lines[:3]] == ["hyp.txt", "other.txt", "hyp.txt"]
    assert lines[2].split()[4] == "1.000"  # of the first against itself


def test_segments_are_tab_separated(folder, run):
    simile(run, "hyp.txt --segments --output segments.tsv")
    text = (folder / "segments.tsv").read_text()
    assert simile(run, "hyp.txt --segments").out == text
    rows = [line.split("\t") for line in text.splitlines()]
    assert rows[0] == ["segment", "simile:hyp.txt", "sim:hyp.txt"]
    scores = SimileScorer(folder / "model").score(HYPOTHESES, REFERENCES)
    assert [row[1] for row in rows[1:]] == [f"{value:.6f}" for value in scores.simile]


@pytest.mark.parametrize("segments", ["", "--segments"])
def test_json_holds_every_number(folder, segments, run):
    simile(run, f"hyp.txt other.txt --output o.json {segments}")
    first, second = found(folder)
    scores = SimileScorer(folder / "model").score(HYPOTHESES, REFERENCES)
    assert [first["system"], second["system"]] == ["hyp.txt", "other.txt"]
    assert scores.to_dict(segments=bool(segments)).items() <= first.items()
    assert first["p_value"] is None
    assert 0 <= second["p_value"] <= 1
    assert first["simile_interval"][0] <= scores.score <= first["simile_interval"][1]
    assert ("simile_scores" in second) == bool(segments)
    assert not list(folder.glob("*.part"))


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ("--several best", {"several": "best"}),
        ("--several mean", {"several": "mean"}),
        (
            "--alpha 0.5 --penalty excess --length characters --lowercase",
            {"alpha": 0.5, "penalty": "excess", "length": "characters", "lowercase": True},
        ),
    ],
)
def test_every_option_and_file_reaches_the_scorer(options, settings, folder, run):
    simile(run, f"hyp.txt {options} --output o.json", "ref.txt other.txt")
    lists = [list(pair) for pair in zip(REFERENCES, OTHERS, strict=True)]
    scorer = SimileScorer(folder / "model", **settings)
    assert scorer.score(HYPOTHESES, lists).to_dict().items() <= found(folder)[0].items()


def test_compare_prints_or_writes_the_report(folder, run):
    pytest.importorskip("sacrebleu")
    nbest = "".join(f"{i // 2} ||| {text} ||| x\n" for i, text in enumerate(SENTENCES[:18]))
    (folder / "nbest.txt").write_text(nbest)
    command = ["compare", "-m", "model", "-s", "hyp.txt", "other.txt", "-r", "ref.txt"]
    command += ["--samples", "50", "--count", "2", "--nbest", "nbest.txt"]
    out, err = run(*command)
    assert "# hyp.txt and other.txt" in out
    assert "| BLEU | 9 |" in out
    assert ".png" not in out
    assert err == ""
    written = run(*command, "--output", "report").out.splitlines()
    assert len(written) == 5
    assert all(Path(path).is_file() for path in written)


def test_translations_are_scored_against_their_source(tmp_path, run):
    pytest.importorskip("py3langid", reason="pip install 'paraphrastic-hf[identify]'")
    source, output = tmp_path / "src.de", tmp_path / "hyp.en"
    source.write_text("Die Katze schläft auf dem Sofa.\nGuten Morgen, Frau Weber.\n")
    output.write_text("The cat is sleeping on the sofa.\n\n")
    words = ["simile", "-s", str(output), "--source", str(source), "--samples", "100"]
    table = run(*words).out
    assert f"{output}: 1 empty (segments 2)" in table
    assert "|against:source|languages:de-en|" in table
    head, *lines = run(*words, "--segments").out.splitlines()
    assert head.split("\t")[3] == f"problem:{output}"
    assert [line.split("\t")[3] for line in lines] == ["", "empty"]
    run(*words, "--output", str(tmp_path / "o.json"))
    (found,) = json.loads((tmp_path / "o.json").read_text())
    assert [name for name, numbers in found["problems"].items() if numbers] == ["empty"]
    assert found["problems"]["empty"] == [2]


def test_all_systems_are_scored_in_the_target_language_of_the_first(tmp_path, run):
    pytest.importorskip("py3langid", reason="pip install 'paraphrastic-hf[identify]'")
    texts = {
        "src.en": "The cat is sleeping on the sofa.",
        "hyp.de": "Die Katze schläft auf dem Sofa.",
        "hyp.fr": "Le chat dort sur le canapé du salon.",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(f"{text}\n")
    source, *systems = (str(tmp_path / name) for name in texts)
    table = run("simile", "-s", *systems, "--source", source).out
    assert f"{systems[1]}: 1 wrong language (segments 1)" in table


@pytest.mark.parametrize("option", ["--alpha 0.5", "-m english", "--lowercase"])
def test_options_of_references_are_refused_with_a_source(folder, run, option):
    words = ["simile", "-s", "hyp.txt", "--source", "ref.txt", *option.split()]
    assert "--source" in run(*words, status=2).err
