"""`paraphrastic simile` and `paraphrastic compare` on files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import torch

from paraphrastic_hf import AveragingConfig, AveragingModel, SentenceEncoder
from paraphrastic_hf.cli.main import COMMANDS, main
from paraphrastic_hf.metrics.scorer import SimileScorer
from paraphrastic_hf.text.subword import SubwordTokenizer
from tests.texts import SENTENCES

HYPOTHESES, OTHERS, REFERENCES = SENTENCES[:9], SENTENCES[9:18], SENTENCES[1:10]


@pytest.fixture
def folder(subword: SubwordTokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model and three files, in the working directory."""
    torch.manual_seed(5)
    model = AveragingModel(AveragingConfig(vocab_size=subword.vocab_size, hidden_size=8))
    SentenceEncoder(model, subword).save_pretrained(tmp_path / "model")
    for name, lines in (("hyp", HYPOTHESES), ("other", OTHERS), ("ref", REFERENCES)):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def simile(*arguments: str, references: tuple[str, ...] = ("ref.txt",)) -> int:
    return main(["simile", "-m", "model", *arguments, "-r", *references, "--samples", "100"])


def test_one_system_is_a_line_and_the_signature(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simile("-s", "hyp.txt") == 0
    out, err = capsys.readouterr()
    scores = SimileScorer(folder / "model").score(HYPOTHESES, REFERENCES)
    lines = out.splitlines()
    assert lines[0].split() == ["system", "SimiLE", "x", "100", "SIM", "x", "100"]
    assert lines[1].startswith(f"hyp.txt  {100 * scores.score:.2f} [")
    assert f"  {100 * scores.sim_score:.2f} [" in lines[1]
    assert lines[2:] == ["", scores.signature]
    assert err == ""


def test_several_systems_stand_in_one_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simile("--systems", "hyp.txt", "other.txt", "hyp.txt") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["system", "SimiLE", "x", "100", "p", "SIM", "x", "100", "p"]
    assert [line.split()[0] for line in lines[1:4]] == ["hyp.txt", "other.txt", "hyp.txt"]
    assert lines[3].split()[4] == "1.000"  # of the first against itself


def test_segments_are_tab_separated_and_repeat(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simile("-s", "hyp.txt", "--segments", "--output", "segments.tsv") == 0
    assert simile("-s", "hyp.txt", "--segments") == 0
    text = (folder / "segments.tsv").read_text(encoding="utf-8")
    assert capsys.readouterr().out == text
    rows = [line.split("\t") for line in text.splitlines()]
    assert rows[0] == ["segment", "simile:hyp.txt", "sim:hyp.txt"]
    scores = SimileScorer(folder / "model").score(HYPOTHESES, REFERENCES)
    assert [row[1] for row in rows[1:]] == [f"{value:.6f}" for value in scores.simile]


@pytest.mark.parametrize("segments", [[], ["--segments"]])
def test_json_holds_every_number(folder: Path, segments: list[str]) -> None:
    assert simile("-s", "hyp.txt", "other.txt", "--output", "out.json", *segments) == 0
    values = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    scores = SimileScorer(folder / "model").score(HYPOTHESES, REFERENCES)
    assert [each["system"] for each in values] == ["hyp.txt", "other.txt"]
    for name, value in scores.to_dict(segments=bool(segments)).items():
        assert values[0][name] == value
    assert values[0]["p_value"] is None
    assert 0 <= values[1]["p_value"] <= 1
    assert values[0]["simile_interval"][0] <= scores.score <= values[0]["simile_interval"][1]
    assert ("simile_scores" in values[1]) == bool(segments)
    assert not list(folder.glob("*.part"))


@pytest.mark.parametrize("several", ["best", "mean"])
def test_several_reference_files_are_several_references(folder: Path, several: str) -> None:
    files = ("ref.txt", "other.txt")
    assert (
        simile("-s", "hyp.txt", "--several", several, "--output", "o.json", references=files) == 0
    )
    lists = [list(pair) for pair in zip(REFERENCES, OTHERS, strict=True)]
    expected = SimileScorer(folder / "model", several=several).score(HYPOTHESES, lists).to_dict()
    found = json.loads((folder / "o.json").read_text(encoding="utf-8"))[0]
    assert {name: found[name] for name in expected} == expected


def test_every_option_reaches_the_scorer(folder: Path) -> None:
    options = ["--alpha", "0.5", "--penalty", "excess", "--length", "characters", "--lowercase"]
    assert simile("-s", "hyp.txt", *options, "--output", "o.json") == 0
    scorer = SimileScorer(
        folder / "model",
        alpha=0.5,
        penalty="excess",
        length="characters",
        lowercase=True,
    )
    expected = scorer.score(HYPOTHESES, REFERENCES).to_dict()
    found = json.loads((folder / "o.json").read_text(encoding="utf-8"))[0]
    assert {name: found[name] for name in expected} == expected


def test_a_seed_gives_the_same_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = []
    for seed in ("3", "3", "4"):
        assert simile("-s", "hyp.txt", "other.txt", "--seed", seed) == 0
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1] != tables[2]


def test_packed_files_and_windows_lines_are_the_same_lines(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simile("-s", "hyp.txt") == 0
    expected = capsys.readouterr().out
    packed = gzip.compress("\r\n".join(HYPOTHESES).encode("utf-8"))
    (folder / "h.gz").write_bytes(packed)
    assert simile("-s", "h.gz") == 0
    found, wanted = capsys.readouterr().out.splitlines(), expected.splitlines()
    assert found[1].split()[1:] == wanted[1].split()[1:]


def test_empty_lines_and_bytes_that_are_no_text_keep_their_place(folder: Path) -> None:
    (folder / "bad.txt").write_bytes(b"\n\xff\xfe\n\0\n" + b"a\n" * 6)
    assert simile("-s", "bad.txt", "--segments", "--output", "o.tsv") == 0
    rows = (folder / "o.tsv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 10
    assert "nan" not in "".join(rows)


def test_errors_are_one_line_and_status_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty.txt").write_text("")
    (folder / "short.txt").write_text("a\nb\n")
    for arguments, references, message in (
        (
            ["-s", "short.txt"],
            ["ref.txt"],
            "short.txt has 2 segments but there are references for 9",
        ),
        (["-s", "hyp.txt"], ["ref.txt", "short.txt"], "ref.txt: 9, short.txt: 2"),
        (["-s", "absent.txt"], ["ref.txt"], "absent.txt"),
        (["-s", "hyp.txt"], ["absent.txt"], "absent.txt"),
        (["-s", "empty.txt"], ["ref.txt"], "empty.txt is empty"),
        (["-s", "hyp.txt", "--alpha", "-1"], ["ref.txt"], "alpha must be 0 or more, got -1.0"),
        (["-s", "hyp.txt", "-m", "absent/at/all"], ["ref.txt"], "absent/at/all is no model"),
        (
            ["-s", "hyp.txt", "--output", "hyp.txt/o.json"],
            ["ref.txt"],
            "cannot write hyp.txt/o.json",
        ),
    ):
        assert simile(*arguments, references=tuple(references)) == 2, message
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("paraphrastic simile: ")
        assert message in err
        assert err.count("\n") == 1


def test_few_draws_show_no_small_p_and_one_segment_shows_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            ["simile", "-m", "model", "-s", "hyp.txt", "ref.txt", "-r", "ref.txt", "--samples", "5"]
        )
        == 0
    )
    assert "0.000" not in capsys.readouterr().out
    for name in ("hyp.txt", "other.txt", "ref.txt"):
        (folder / f"one-{name}").write_text((folder / name).read_text().splitlines()[0] + "\n")
    arguments = ["simile", "-m", "model", "-s", "one-hyp.txt", "one-other.txt"]
    assert main([*arguments, "-r", "one-ref.txt"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[2].count(" 1.000") == 2
    assert "[" not in printed


def test_no_resamples_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["simile", "-m", "model", "-s", "hyp.txt", "-r", "ref.txt", "--samples", "0"]
    assert main(arguments) == 2
    assert "samples must be 1 or more, got 0" in capsys.readouterr().err


def test_a_negative_seed_is_one_line_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simile("-s", "hyp.txt", "--seed", "-1") == 2
    assert "seed" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_h_is_help_everywhere(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([command, "-h"])
    assert end.value.code == 0
    assert "usage: paraphrastic" in capsys.readouterr().out


def test_compare_prints_or_writes_the_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sacrebleu")
    (folder / "nbest.txt").write_text(
        "".join(f"{i // 2} ||| {text} ||| x\n" for i, text in enumerate(SENTENCES[:18])),
        encoding="utf-8",
    )
    arguments = ["compare", "-m", "model", "-s", "hyp.txt", "other.txt", "-r", "ref.txt"]
    arguments += ["--samples", "50", "--count", "2", "--nbest", "nbest.txt"]
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert "# hyp.txt and other.txt" in printed.out
    assert "| BLEU | 9 |" in printed.out
    assert "| mean sentence BLEU | corpus BLEU | p |" in printed.out
    assert ".png" not in printed.out
    assert printed.err == ""
    assert main([*arguments, "--output", "report"]) == 0
    written = capsys.readouterr().out.splitlines()
    assert len(written) == 5
    assert all(Path(path).is_file() for path in written)


def test_compare_names_what_is_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sacrebleu")
    (folder / "nbest.txt").write_text("9 ||| a\n")
    (folder / "short.txt").write_text("a\nb\n")
    for arguments, message in (
        (["-s", "hyp.txt", "other.txt", "--nbest", "nbest.txt"], "nbest.txt:1 is of segment 9"),
        (["-s", "hyp.txt", "short.txt"], "short.txt has 2 segments"),
    ):
        assert main(["compare", "-m", "model", *arguments, "-r", "ref.txt"]) == 2
        assert message in capsys.readouterr().err
