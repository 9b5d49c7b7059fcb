"""Check `pip install paraphrastic-hf` without extras: `python tests/check_core.py`.

It runs outside the source tree in an environment with only the core dependencies, which
`check_wheel.py` and cibuildwheel make. `--compiled` requires the compiled module.
"""

import contextlib
import importlib
import importlib.util
import io
import json
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import paraphrastic_hf
from paraphrastic_hf import SentenceEncoder, SimileScorer, mine, packaged_model
from paraphrastic_hf.cli.main import COMMANDS, main
from paraphrastic_hf.encoders.static.engine import WordTable
from paraphrastic_hf.errors import MissingExtraError
from paraphrastic_hf.extras import EXTRAS

COMES_WITH_THE_HUB = {"filelock"}
TEXTS = ["a cat sleeps", "the weather is bad today", "", "Ünïcode — ☃ \ud800"]
PARAPHRASES = ["it is raining, the weather is bad", "the cat is asleep"]
KINDS = ("relatedness", "paraphraser")  # models of commands
NEED = {  # commands that need an extra
    "train": ["train", "own", "--sources", "pairs.tsv", "--output", "run"],
    "evaluate": ["evaluate", "english", "--suite", "sts", "--data", "."],
    "report": ["report", "a", "b", "--output", "page"],
    "analyze": ["analyze", "norms", "english", "--output", "analysis"],
    "predict": ["predict", "relatedness", "pairs.tsv"],
    "translate": ["translate", "paraphraser", "pairs.tsv", "--to", "fr"],
    "paraphrase": ["paraphrase", "paraphraser", "pairs.tsv", "--canonical"],
    "convert": ["convert", "vectors.txt", "--output", "model"],
    "pack": ["pack", "english", "--dimension", "80", "--output", "tiny"],
    "compare": ["compare", "-s", "texts.txt", "texts.txt", "-r", "texts.txt"],
    "install-metric": ["install-metric"],
    "corpus": ["corpus", "make", "back-translation-2017/smoke", "--output", "corpus"],
    "corpus stats": ["corpus", "stats", "corpus.parquet"],
    "data": ["data", "stats", "sts", "--data", "."],
    "publish": ["publish", "model", "english", "me/english", "--dry-run", "published"],
    "encode": ["encode", "english", "pairs.tsv", "--output", "vectors/"],
    "mine": ["mine", "english", "pairs.tsv", "pairs.tsv", "--output", "x.parquet"],
}
MODULES = (
    "models.encoders.averaging",
    "training.engine.run",
    "evaluation.suites.sts",
    "analyses.norms",
    "losses.margin",
)
NAMED = {  # extra that the error must name, else `train`
    **dict.fromkeys(("evaluate", "report", "analyze"), "evaluate"),
    **dict.fromkeys(("corpus stats", "data", "encode", "mine"), "data"),
    **{"compare": "compare", "install-metric": "metric", "corpus": "corpora"},
}


def run(*arguments):
    """Return the exit status, standard output and standard error of a command."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            status = main(arguments)
        except SystemExit as stop:
            status = int(stop.code or 0)
    return status, out.getvalue(), errors.getvalue()


def printed(*arguments):
    """Run a command that must succeed, and return what it prints."""
    status, out, errors = run(*arguments)
    assert status == 0, errors
    return out


def refusal(call):
    """Return the error message of a function that needs an extra."""
    try:
        call()
    except MissingExtraError as error:
        return str(error)
    return ""


def check_that_no_extra_is_installed():
    root = Path(__file__).resolve().parents[1]
    assert not Path(paraphrastic_hf.__file__).resolve().is_relative_to(root / "src")
    for names in EXTRAS.values():
        for name in set(names) - COMES_WITH_THE_HUB:
            assert importlib.util.find_spec(name) is None, f"{name} is installed"


def check_encoding():
    for name in ("english", "multilingual", "tiny", "simile"):
        encoder = SentenceEncoder.from_pretrained(name)
        vectors = encoder.encode(TEXTS, normalize_embeddings=True)
        assert vectors.shape == (len(TEXTS), encoder.dimension), vectors.shape
        assert np.isfinite(vectors).all()
        apart = encoder.encode(TEXTS, apart=True)
        assert apart.shape == vectors.shape
    encoder = SentenceEncoder.from_pretrained(packaged_model())
    many = [f"{text} {number}" for text in TEXTS[:2] for number in range(500)]
    expected = encoder.encode(many)
    encoder._static = None  # as without the compiled module
    np.testing.assert_allclose(encoder.encode(many), expected, atol=1e-5)
    assert encoder.with_dimension(64).encode(TEXTS).shape == (len(TEXTS), 64)


def check_applications():
    Path("pairs.tsv").write_text("a cat sleeps\tthe cat is asleep\n", encoding="utf-8")
    assert 0.5 < float(printed("score", "english", "pairs.tsv").split("\t")[0]) <= 1
    Path("corpus.txt").write_text("\n".join(PARAPHRASES) + "\n", encoding="utf-8")
    out = printed("neighbors", "english", "corpus.txt", "--query", "a cat sleeps")
    assert "the cat is asleep" in out.splitlines()[1], out
    printed("encode", "english", "corpus.txt", "--output", "x.npy", "--quiet")
    encoder = SentenceEncoder.from_pretrained()
    np.testing.assert_array_equal(np.load("x.npy"), encoder.encode(PARAPHRASES))
    pairs = mine(encoder.encode(TEXTS[:2]), encoder.encode(PARAPHRASES), k=1, score="cosine")
    assert {*zip(pairs.source.tolist(), pairs.target.tolist(), strict=True)} == {(0, 1), (1, 0)}
    Path("texts.txt").write_text("\n".join(TEXTS[:2]) + "\n", encoding="utf-8")
    out = printed("mine", "english", "texts.txt", "corpus.txt", "--score", "cosine")
    assert len(out.splitlines()) == 2, out
    scores = SimileScorer().score(["the cat is asleep"], ["a cat sleeps"])
    assert 0.5 < scores.score <= 1, scores
    assert "100.0" in printed("simile", "-s", "texts.txt", "-r", "texts.txt")


def check_corpora():
    Path("many.tsv").write_text("a cat sleeps\tthe cat is asleep\n" * 20, encoding="utf-8")
    stats = printed("corpus", "stats", "many.tsv").splitlines()
    assert stats[2].startswith("| many | 20 | 3.0 "), stats
    tenths = printed("corpus", "tenths", "many.tsv", "--step", "overlap", "--output", "cut")
    assert len(tenths.splitlines()) == 10, tenths
    printed("corpus", "sample", "many.tsv", "--output", "judged")
    assert Path("judged/page.html").is_file()


def check_that_extras_are_named():
    for kind in KINDS:
        Path(kind).mkdir()
        config = {"model_type": f"paraphrastic-{kind}", "languages": ["en", "fr"]}
        Path(kind, "config.json").write_text(json.dumps(config))
    for name, arguments in NEED.items():
        extra = NAMED.get(name, "train")
        status, _, errors = run(*arguments)
        assert status == 2, (name, status, errors)
        assert f"pip install 'paraphrastic-hf[{extra}]'" in errors, (name, errors)
        assert len(errors.splitlines()) == 1, (name, errors)
    encoder = SentenceEncoder.from_pretrained()
    for name, call in {
        "AveragingModel": lambda: paraphrastic_hf.AveragingModel,
        "SentencePredictor": lambda: paraphrastic_hf.SentencePredictor,
        "Tagger": lambda: paraphrastic_hf.Tagger,
        "SentenceParser": lambda: paraphrastic_hf.SentenceParser,
        "load_dataset": lambda: paraphrastic_hf.load_dataset("sts"),
        "model": lambda: encoder.model,
        "save_pretrained": lambda: encoder.save_pretrained("saved"),
        **{name: partial(importlib.import_module, f"paraphrastic_hf.{name}") for name in MODULES},
    }.items():
        message = refusal(call)
        assert "pip install 'paraphrastic-hf[" in message, (name, message)


def check_help():
    """Every command explains itself without the extras."""
    for command in [[], *([name] for name in COMMANDS), ["corpus", "make"]]:
        status, out, errors = run(*command, "--help")
        assert (status, errors) == (0, ""), (command, errors)
        assert out.startswith("usage: paraphrastic")


def check():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["PARAPHRASTIC_DATA"] = folder
        check_that_no_extra_is_installed()
        check_encoding()
        check_applications()
        check_corpora()
        check_that_extras_are_named()
        check_help()
        assert "torch" not in sys.modules
        os.chdir("/")
    assert WordTable is not None or "--compiled" not in sys.argv, "nothing was compiled"
    how = "without the compiled module" if WordTable is None else "with the compiled module"
    print(f"core: encoded, scored, mined and measured {how}; extras named")


if __name__ == "__main__":
    check()
