"""Training of SCPN, parse generators, paraphrasers and stock models on parsed pairs."""

import logging
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.generation.templates import load_templates
from paraphrastic_hf.syntax.parse_tokens import parse_tokenizer
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import Context, load_recipe
from paraphrastic_hf.training.paraphrase.job import Paraphrasing, most_tokens
from tests.generation import scpn
from tests.training.runs import card, record

FIRST = "(ROOT (S (NP (PRP she)) (VP (VBD drove) (NP (NN home))) (. .)))"
WHERE = "(SBAR (WHADVP (WRB where)) (S (NP (PRP she)) (VP (VBD drove))))"
SECOND = f"(TOP (S (NP-SBJ (NN home)) (VP (VBZ is) {WHERE})))"
ROWS = [
    ("she drove home .", "home is where she drove", FIRST, SECOND),
    ("he drove home .", "she drove home .", FIRST, FIRST),  # equal parses
    ("a b", "c d", "(S (NP", SECOND),  # unbalanced brackets
    ("a b", "c d", FIRST, "(S (QQ a) (NN b))"),  # unknown label
]


def write_rows(path: Path, rows: list[tuple[str, ...]]) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def prepared(folder: Path, *options: str, **context: Any) -> tuple[Paraphrasing, Path]:
    folder.mkdir(exist_ok=True)
    settings = ["--held_out", "0", "--development", "none", *options]
    kind = Paraphrasing(load_recipe(scpn.write_recipe(folder), settings), Context(**context))
    kind.prepare(folder / "work")
    return kind, folder / "work"


QUICK, SLOW = ("scpn", "bart"), pytest.mark.slow


@pytest.mark.parametrize(
    "kind", [kind if kind in QUICK else pytest.param(kind, marks=SLOW) for kind in scpn.KINDS]
)
def test_every_kind_trains_and_loads_in_transformers(kind, tmp_path):
    folder = scpn.make(kind, tmp_path)
    run = record(folder)
    assert run["held_out"]["perplexity"] > 1
    model = AutoModelForSeq2SeqLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(["the girl wrote a letter ."], return_tensors="pt")
    if getattr(model, "reads_template", False):
        inputs["template_ids"] = inputs["input_ids"] * 0 + 3
    written = model.generate(**inputs, num_beams=2, max_new_tokens=5)
    assert written.shape[0] == 1
    names = {"marian": "MarianMTModel", "bart": "BartForConditionalGeneration"}
    if kind in names:
        assert type(model).__name__ == names[kind]
        assert not list(folder.glob("*.py"))  # needs no remote code
    counts = (folder / "templates.tsv").read_text(encoding="utf-8").splitlines()
    assert counts[0].split("\t")[1].startswith("(S")
    shown = card(folder)
    assert "SyntacticParaphraser.from_pretrained" in shown or kind == "parse-generator"


def test_pairs_without_different_trees_are_left_out(tmp_path, caplog):
    path = write_rows(tmp_path / "pairs.tsv", ROWS)
    with caplog.at_level(logging.INFO):
        kind, work = prepared(tmp_path, "--sources", f"[{path}]")
    assert "2 rows" in caplog.text
    assert "1 pair " in caplog.text
    kind.build(work)
    words, parses = load_tokenizer(work / "tokenizer"), parse_tokenizer()
    rows = []
    for source, target in kind.kept:
        template = kind.corpus.templates[int(target)]
        rows.append(
            [words.decode(kind.corpus.sentences[int(side)]) for side in (source, target)]
            + [parses.decode(template)]
        )
    first = "(S (NP (PRP ) ) (VP (VBD ) (NP (NN ) ) ) (. ) )"
    second = "(S (NP (NN ) ) (VP (VBZ ) (SBAR (WHADVP (WRB ) ) (S (NP (PRP ) ) (VP (VBD ) ) ) ) ) )"
    assert rows == [
        ["she drove home .", "home is where she drove", second],
        ["home is where she drove", "she drove home .", first],
    ]
    with pytest.raises(DataError):
        prepared(tmp_path / "..", "--sources", f"[{path}]", "--bad_rows", "refuse")
    options = ["--differing", "false", "--both_directions", "false"]
    kind, work = prepared(tmp_path / "more", "--sources", f"[{path}]", *options)
    kind.build(work)
    assert len(kind.kept) == 3  # only tree2 is read
    assert (kind.kept[:, 1] % 2 == 1).all()  # the second sentence is written
    with pytest.raises(RecipeError):
        prepared(tmp_path, "--sources", f"[{{path: {path}, beside: {{score: 3}}}}]")


def test_a_paraphraser_needs_no_parses(tmp_path):
    path = write_rows(tmp_path / "pairs.tsv", [row[:2] for row in ROWS])
    plain = [*scpn.KINDS["paraphraser"], "--sources", f"[{path}]"]
    with pytest.raises(DataError):
        prepared(tmp_path, *plain, "--differing", "true")
    kind, work = prepared(tmp_path, *plain, "--differing", "false")
    kind.build(work)
    assert len(kind.kept) == 8  # every pair, both ways
    assert kind.templates is None
    assert not kind.corpus.counts


def test_a_stock_model_reads_the_parse_after_the_sentence(tmp_path):
    path = write_rows(tmp_path / "pairs.tsv", ROWS[:1])
    options = [*scpn.KINDS["bart"], "--tokenizer.kind", "char"]
    kind, work = prepared(tmp_path, "--sources", f"[{path}]", *options)
    kind.build(work)
    tokenizer = load_tokenizer(work / "tokenizer")
    read, written = (tokenizer.decode(kind.corpus.sentences[int(n)]) for n in kind.kept[0])
    assert read == "she drove home . <sep> (s (np ) (vp ) )"
    assert written == "home is where she drove"


def test_parquet_files_and_datasets_are_read(tmp_path):
    names = ["sentence1", "sentence2", "tree1", "tree2"]
    rows = datasets.Dataset.from_list([dict(zip(names, row, strict=True)) for row in ROWS])
    rows.to_parquet(str(tmp_path / "pairs.parquet"))
    kind, work = prepared(tmp_path, "--sources", f"[{tmp_path / 'pairs.parquet'}]")
    kind.build(work)
    assert len(kind.kept) == 2
    given, work = prepared(tmp_path / "again", "--sources", "[]", datasets=[rows])
    given.build(work)
    assert np.array_equal(given.kept, kind.kept)


def test_stock_models_read_sentence_and_template_within_their_limit(tmp_path):
    options = ["--max_length", "20", "--max_template", "50", *scpn.KINDS["bart"]]
    recipe = load_recipe(scpn.write_recipe(tmp_path), options)
    assert most_tokens(recipe) == (70, 20)
    plain = load_recipe(tmp_path / "recipe.yaml", [*options, "--model.template", "none"])
    assert most_tokens(plain) == (20, 20)


def test_a_run_can_start_from_another(tmp_path):
    first = scpn.make("ssru", tmp_path)
    path = tmp_path / "second.yaml"  # `--start` removes its sizes and its tokenizer
    text = scpn.SMALL.replace("hidden_size: 16", "hidden_size: 16, kind: ssru, template: template")
    path.write_text(text, encoding="utf-8")
    start = ["--start", str(first)]
    still = load_recipe(path, [*start, "--learning_rate", "1e-9", "--steps", "1"])
    train(still, tmp_path / "second", progress=False)
    losses = [record(folder)["held_out"]["perplexity"] for folder in (first, tmp_path / "second")]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    assert load_templates(tmp_path / "second") == load_templates(first)
    sizes = ("--hidden_size 32", "--model.heads 2", "--model.kind scpn")
    for option in (*sizes, "--tokenizer.lowercase false"):
        with pytest.raises(RecipeError, match="start"):
            load_recipe(path, [*start, *option.split()])
    plain = load_recipe(path, [*start, "--model.template", "none"])
    other = load_recipe(path, ["--start", str(scpn.make("by-template", tmp_path))])
    for recipe, wrong in ((plain, "none"), (other, "paraphrastic-scpn")):
        with pytest.raises(RecipeError, match=wrong):
            Paraphrasing(recipe, Context())
