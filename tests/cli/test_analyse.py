"""`paraphrastic analyse` end to end, and its mistakes in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf.cli.analyse import ANALYSES
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.text.word import WordTokenizer
from tests.analyses.made import DEMO, write_ewt
from tests.corpora.made_files import put
from tests.evaluation.sts_files import write_sts

SENTENCE = [("the", "DT", "det"), ("cat", "NN", "root"), ("sleeps", "VBZ", "acl")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root with every file that a kind reads, and a model in `model`."""
    lines = DEMO.read_text(encoding="utf-8").replace("\t", "\n").splitlines()
    tokenizer = WordTokenizer.train(lines, vocab_size=300)
    table = np.random.default_rng(0).standard_normal((tokenizer.vocab_size, 8))
    encoder = SentenceEncoder.from_table(table.astype(np.float32), tokenizer)
    encoder.save_pretrained(tmp_path / "model")
    words = "".join(f"{word} {500 - i}\n" for i, word in enumerate(tokenizer.tokens()[2:]))
    put(tmp_path, {"words/enwiki_vocab_min200.txt.xz": words})
    put(tmp_path, {"model/recipe.yaml": f"data: {{sources: [{json.dumps(str(DEMO))}]}}"})
    write_ewt(tmp_path / "eval", [SENTENCE] * 5)
    write_sts(tmp_path / "eval")
    return tmp_path


def analyse(root: Path, kind: str, *arguments: str) -> int:
    output = str(root / "out")
    common = [] if kind == "convergence" else ["--data", str(root)]
    return main(["analyse", kind, *arguments, *common, "--output", output])


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("neighbours", ["--query", "the", "--most", "50"]),
        ("neighbours", ["--query", "the", "--rows", "--neighbours", "2"]),
        ("norms", []),
        ("weighting", []),
        ("weighting", ["--text", str(DEMO)]),
        ("fit", ["--pairs", "10", "--batch-size", "5"]),
        ("under-training", []),
        ("negatives", ["--pairs", "12", "--batch-size", "3", "--sizes", "1", "2", "4"]),
        ("errors", ["english", "--count", "2"]),
    ],
)
def test_a_kind_prints_its_page_and_writes_its_files(
    kind: str, options: list[str], root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analyse(root, kind, str(root / "model"), *options) == 0
    printed = capsys.readouterr().out
    page = (root / "out" / f"{kind}.md").read_text(encoding="utf-8")
    assert printed.startswith(page.split("\n")[0])
    assert str(root / "out" / f"{kind}.png") in printed
    assert (root / "out" / f"{kind}.png").stat().st_size > 1000
    assert json.loads((root / "out" / f"{kind}.json").read_text(encoding="utf-8"))["kind"] == kind


def test_a_recipe_takes_overrides(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = str(DEMO.parent / "demo.yaml")
    settings = ["--sources", str(DEMO), "--epochs", "1", "--development", "clean"]
    assert analyse(root, "data-amount", recipe, "--sizes", "20", *settings) == 0
    assert "| pairs | random | ordered |" in capsys.readouterr().out
    runs = [str(root / "out" / "runs" / f"{order}-20") for order in ("random", "ordered")]
    assert analyse(root, "convergence", *runs) == 0
    assert "| random-20 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["neighbours", "MODEL", "--query", "zebra"], "'zebra' is unknown to model"),
        (["neighbours", "MODEL", "--query", "a", "--rows", "--among", "x"], "leave out --rows or"),
        (["neighbours", "MODEL", "MODEL", "--query", "a"], "two models have one name"),
        (
            ["neighbours", "MODEL", "--query", "a", "--among", "absent.txt"],
            "cannot open absent.txt",
        ),
        (["norms", "MODEL", "--corpus", "treebank"], "treebank: "),
        (["gates", "MODEL"], "has no gates; train one with"),
        (["convergence", "MODEL"], "give the --output of `paraphrastic train`"),
        (["languages", "MODEL", "--epochs", "3"], "unknown option --epochs: "),
        (["languages", "MODEL", "--pairs", "0"], "--pairs must be 1 or more, got 0"),
        (["languages", "MODEL", "--distances", "absent.tsv"], "cannot open absent.tsv"),
        (["ngram-vocabulary", "RECIPE"], "use one with tokenizer.kind char_ngram"),
        (["data-amount", "RECIPE", "--sizes", "5"], "--development clean"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_one_line_with_the_way_out(
    arguments: list[str], message: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"MODEL": str(root / "model"), "RECIPE": str(DEMO.parent / "demo.yaml")}
    given = [names.get(argument, argument) for argument in arguments]
    given += ["--sources", str(DEMO)] if "RECIPE" in arguments else []
    assert analyse(root, *given) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_without_the_training_text_counts_need_text(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "model" / "recipe.yaml").unlink()
    assert analyse(root, "weighting", str(root / "model")) == 2
    assert "is not at hand" in capsys.readouterr().err
    assert analyse(root, "weighting", str(root / "model"), "--text", str(DEMO)) == 0


def test_without_a_data_root_the_way_out_is_said(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PARAPHRASTIC_DATA", raising=False)
    given = ["analyse", "norms", str(root / "model"), "--output", str(root / "out")]
    assert main(given) == 2
    assert "with --data (or PARAPHRASTIC_DATA)" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ANALYSES)
def test_every_kind_explains_itself_with_an_example(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["analyse", kind, "--help"])
    assert f"paraphrastic analyse {kind}" in capsys.readouterr().out.split("example:")[1]


def test_a_model_that_was_not_trained_on_pairs_has_none_to_look_at(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analyse(root, "fit", "english") == 2
    assert "english was not trained by a contrastive recipe, whose pairs" in capsys.readouterr().err
