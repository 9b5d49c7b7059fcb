"""Paraphrases to order: templates, filters, and what cannot be paraphrased."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.generation.paraphrase import SyntacticParaphraser
from paraphrastic_hf.generation.paraphrase_filter import first_tree
from paraphrastic_hf.generation.templated import TemplatedWriter
from paraphrastic_hf.generation.writing import Writing
from paraphrastic_hf.syntax.parse_tokens import checked_tree, parse_text, parse_tokenizer
from paraphrastic_hf.syntax.parse_tree import LABELS, Tree
from paraphrastic_hf.syntax.parsed import ParsedLine
from paraphrastic_hf.text.overlap import ngram_overlap
from tests.generation import scpn

LINES = ["the girl wrote a letter in the garden .", "", "a man sold the paper at school .", "Ж"]
TREE = checked_tree("(S (NP (DT the) (NN girl)) (VP (VBD wrote) (NP (DT a) (NN letter))) (. .))")
TEMPLATES = ["(ROOT (S (NP) (VP) (.)))", "(S(PP)(,)(NP)(VP)(.))"]
WHOLE = "(S (NP (DT) (NN)) (VP (VBD) (NP (DT) (NN))) (.))"
LOOSE: dict[str, Any] = {"min_overlap": None, "min_similarity": None}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    kinds = ("scpn", "parse-generator", "by-template", "paraphraser", "bart")
    return {kind: scpn.make(kind, folder) for kind in kinds}


@pytest.fixture
def paraphraser(models: dict[str, Path]) -> SyntacticParaphraser:
    def parser(sentences: Any) -> list[Tree | None]:
        return [TREE if "girl" in each else None for each in sentences]

    return SyntacticParaphraser.from_pretrained(
        models["scpn"], generator=models["parse-generator"], parser=parser
    )


class LetterEncoder:
    """Counts of letters."""

    def encode(self, texts: list[str], *, normalize: bool) -> np.ndarray:
        counts = np.array([[text.count(c) + 1e-9 for c in "abcdefghijklmn"] for text in texts])
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def test_trees_become_tokens_and_come_back() -> None:
    tokenizer = parse_tokenizer()
    text = "(S " + " ".join(f"({label} )" for label in sorted(LABELS)) + " )"
    assert tokenizer.decode(tokenizer.encode_batch([text])[0]) == text
    assert parse_text(TREE) == "(S (NP (DT ) (NN ) ) (VP (VBD ) (NP (DT ) (NN ) ) ) (. ) )"
    assert checked_tree(parse_text(TREE)).linear() == TREE.linear()


def test_the_parser_the_generator_and_scpn_work_together(paraphraser: SyntacticParaphraser) -> None:
    found = paraphraser.paraphrase(LINES, TEMPLATES, **LOOSE)
    assert [len(each) for each in found] == [2, 2, 2, 2]
    assert [one.template for one in found[0]] == [
        "(ROOT (S (NP) (VP) (.)))",
        "(ROOT (S (PP) (,) (NP) (VP) (.)))",
    ]
    assert {one.remark for one in found[1]} == {"the line is blank"}
    assert {one.remark for one in found[2]} == {"the sentence could not be parsed"}
    assert {one.remark for one in found[3]} == {"the sentence has no known token"}
    assert not any(one.text for one in (*found[1], *found[2], *found[3]))


@pytest.mark.parametrize("give", ["trees", "lines", "parser"])
def test_a_parser_is_a_function_to_trees_or_what_parses_lines(
    give: str, models: dict[str, Path]
) -> None:
    class Parser:
        def parse(self, lines: Sequence[str]) -> list[ParsedLine]:
            return [
                ParsedLine([], TREE) if "girl" in line else ParsedLine.without_tree([], "empty")
                for line in lines
            ]

    def trees(lines: Sequence[str]) -> list[Tree | None]:
        return [TREE if "girl" in line else None for line in lines]

    parser: Any = {"trees": trees, "lines": Parser().parse, "parser": Parser()}[give]
    paraphraser = SyntacticParaphraser.from_pretrained(
        models["scpn"], generator=models["parse-generator"], parser=parser
    )
    found = paraphraser.paraphrase(LINES, TEMPLATES, **LOOSE)
    assert "could not be parsed" not in found[0][0].remark
    assert found[2][0].remark == "the sentence could not be parsed"


def test_what_gives_no_trees_is_no_parser(models: dict[str, Path]) -> None:
    paraphraser = SyntacticParaphraser.from_pretrained(
        models["scpn"], generator=models["parse-generator"], parser=lambda lines: list(lines)
    )
    with pytest.raises(TypeError, match="a parser must give a Tree for each sentence, or None"):
        paraphraser.paraphrase(LINES[:1], TEMPLATES, **LOOSE)
    with pytest.raises(ModelError, match="no/parser"):
        SyntacticParaphraser.from_pretrained(models["scpn"], parser="no/parser")


def test_what_ends_at_the_most_tokens_is_marked(paraphraser: SyntacticParaphraser) -> None:
    writing = Writing(beams=3, max_tokens=2)
    (one,) = paraphraser.paraphrase(LINES[:1], [WHOLE], writing=writing, **LOOSE)[0]
    assert one.is_cut
    assert one.remark == "it was cut at the most tokens"


def test_a_whole_parse_needs_no_generator(models: dict[str, Path]) -> None:
    alone = SyntacticParaphraser.from_pretrained(models["scpn"])
    (one,) = alone.paraphrase(LINES[:1], [WHOLE], **LOOSE)[0]
    assert one.parse == "(ROOT (S (NP (DT) (NN)) (VP (VBD) (NP (DT) (NN))) (.)))"
    assert one.text
    assert one.nats < 0
    with pytest.raises(DataError, match="name a parse generator that fills templates"):
        alone.paraphrase(LINES[:1], TEMPLATES, **LOOSE)


def test_templates_of_a_sentence_in_one_batch_are_those_one_by_one(
    models: dict[str, Path],
) -> None:
    by_template = SyntacticParaphraser.from_pretrained(models["by-template"])
    together = by_template.paraphrase(LINES[::2], TEMPLATES, **LOOSE)
    for row, line in enumerate(LINES[::2]):
        for place, template in enumerate(TEMPLATES):
            (alone,) = by_template.paraphrase([line], [template], **LOOSE)[0]
            assert alone.text == together[row][place].text
            assert alone.nats == pytest.approx(together[row][place].nats, abs=1e-4)


def test_each_sentence_may_have_templates_of_its_own(paraphraser: SyntacticParaphraser) -> None:
    lines = [LINES[0], "the girl saw it ."]
    own = [[TEMPLATES[0]], [WHOLE, TEMPLATES[1]]]
    together = paraphraser.paraphrase(lines, own, **LOOSE)
    assert [len(each) for each in together] == [1, 2]
    for line, templates, found in zip(lines, own, together, strict=True):
        for template, one in zip(templates, found, strict=True):
            (alone,) = paraphraser.paraphrase([line], [template], **LOOSE)[0]
            assert (alone.text, alone.parse) == (one.text, one.parse)
            assert alone.template == one.template


@pytest.mark.parametrize("lists", [[TEMPLATES], [TEMPLATES, TEMPLATES[0]], [TEMPLATES] * 3])
def test_a_list_of_templates_is_of_each_sentence(
    paraphraser: SyntacticParaphraser, lists: Any
) -> None:
    with pytest.raises(DataError, match="or a list of them for each: got 2 sentences and "):
        paraphraser.paraphrase([LINES[0], LINES[2]], lists, **LOOSE)


@pytest.mark.parametrize("kind", ["by-template", "bart"])
def test_stock_models_and_ours_answer_alike(models: dict[str, Path], kind: str) -> None:
    loaded = SyntacticParaphraser.from_pretrained(models[kind])
    how = Writing(beams=3, outputs=2, max_tokens=10)
    found = loaded.paraphrase(LINES[:2], TEMPLATES, writing=how, **LOOSE)
    assert [len(each) for each in found] == [4, 4]
    assert loaded.top_templates(3)[0].startswith("(ROOT (S")
    assert len(loaded.top_templates(3)) == 3


def test_canonicalising_needs_no_template(models: dict[str, Path]) -> None:
    plain = SyntacticParaphraser.from_pretrained(models["paraphraser"])
    found = plain.canonicalise(LINES)
    assert len(found) == 4
    assert found[0]
    assert found[1] == ""
    with pytest.raises(DataError, match="reads no template: leave them out"):
        plain.paraphrase(LINES, TEMPLATES, **LOOSE)
    with pytest.raises(DataError, match="it reads none; use canonicalise"):
        plain.top_templates()


def test_what_shares_too_little_is_marked(paraphraser: SyntacticParaphraser) -> None:
    paraphraser.encoder = LetterEncoder()
    (one,) = paraphraser.paraphrase(LINES[:1], [WHOLE], min_overlap=None, min_similarity=0.0)[0]
    assert one.remark in ("", "it was cut at the most tokens")
    assert one.overlap == ngram_overlap(LINES[0], one.text, 1)
    strict = paraphraser.paraphrase(LINES[:1], [WHOLE], min_overlap=1.0, min_similarity=1.0)
    assert "overlap" in strict[0][0].remark
    assert "similarity" in strict[0][0].remark
    assert not strict[0][0].is_kept
    paraphraser.encoder = None
    with pytest.raises(DataError, match="min_similarity needs an encoder"):
        paraphraser.paraphrase(LINES[:1], [WHOLE])


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("no tree", "is no tree, since it does not begin with a bracket"),
        ("(S (NP)", "unbalanced brackets"),
        ("(S (NP) (VQ))", "unknown label 'VQ'; did you mean"),
        ("", "an empty text is no tree"),
        ("(S)", "has one node"),
    ],
)
def test_what_is_no_template_is_refused(
    paraphraser: SyntacticParaphraser, template: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        paraphraser.paraphrase(LINES, [template], **LOOSE)


def test_a_template_that_training_had_not_is_warned_of(
    paraphraser: SyntacticParaphraser, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        paraphraser.paraphrase(LINES[:1], ["(UCP (NAC) (NAC))"], **LOOSE)
    assert "no sentence of training had the template (ROOT (UCP (NAC) (NAC)))" in caplog.text


def test_a_sentence_of_500_tokens_is_marked(models: dict[str, Path]) -> None:
    by_template = SyntacticParaphraser.from_pretrained(models["by-template"])
    (one,) = by_template.paraphrase(["the girl " * 250], TEMPLATES[:1], **LOOSE)[0]
    assert one.remark == "the sentence has 501 tokens, more than 300"


def test_models_that_do_not_go_together_are_refused(models: dict[str, Path]) -> None:
    with pytest.raises(ModelError, match="the model writes parses"):
        SyntacticParaphraser.from_pretrained(models["parse-generator"])
    with pytest.raises(ModelError, match="the parse generator writes sentences"):
        SyntacticParaphraser.from_pretrained(models["scpn"], generator=models["scpn"])
    writer = TemplatedWriter.from_pretrained(models["scpn"])
    writer.model.config.template_vocab_size = 40
    with pytest.raises(ModelError, match="its vocabulary is of another release"):
        TemplatedWriter(writer.model, writer.tokenizer)
    with pytest.raises(DataError, match="give some, as"):
        SyntacticParaphraser(writer).paraphrase(LINES, **LOOSE)


@pytest.mark.parametrize("kind", ["scpn", "bart", "paraphraser"])
def test_what_is_saved_again_writes_the_same_and_knows_its_templates(
    kind: str, models: dict[str, Path], tmp_path: Path
) -> None:
    first = SyntacticParaphraser.from_pretrained(models[kind])
    first.save_pretrained(tmp_path / "again")
    again = SyntacticParaphraser.from_pretrained(tmp_path / "again")
    assert again.templates == first.templates
    assert bool(first.templates) == (kind != "paraphraser")
    templates = {"scpn": [WHOLE], "bart": TEMPLATES[:1], "paraphraser": None}[kind]
    written = [each.paraphrase(LINES, templates, **LOOSE) for each in (first, again)]
    assert [one.text for one in written[1][0]] == [one.text for one in written[0][0]]


def test_a_repository_of_both_models_is_asked_for_with_its_options(
    models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def found(name: str, **options: Any) -> Path:
        asked.append((name, options))
        return models[name]

    monkeypatch.setattr("paraphrastic_hf.generation.paraphrase.local_directory", found)
    SyntacticParaphraser.from_pretrained(
        "scpn", generator="parse-generator", revision="old", token="hf_x"
    )
    assert asked == [
        ("scpn", {"revision": "old", "token": "hf_x"}),
        ("parse-generator", {"token": "hf_x"}),  # a revision is of one repository
    ]
    monkeypatch.undo()
    with pytest.raises(TypeError, match="no keyword 'revison'"):
        SyntacticParaphraser.from_pretrained(models["scpn"], revison="old")  # type: ignore[call-arg]


def test_the_first_whole_tree_with_the_template_is_taken() -> None:
    wanted = "(S (NP ) (VP ) )"
    written = ["(S (NP ) (VP )", "(S (VP (VB ) ) )", "(S (NP (DT ) ) (VP ) )"]
    assert first_tree(written, wanted) == "(S (NP (DT ) ) (VP ) )"
    assert first_tree(written[:2], wanted) == "(S (VP (VB ) ) )"
    assert first_tree(written[:1], wanted) == ""


def test_a_whole_parse_of_two_levels_needs_no_generator(models: dict[str, Path]) -> None:
    plain = SyntacticParaphraser.from_pretrained(models["scpn"])
    (found,) = plain.paraphrase(LINES[:1], ["(ROOT (FRAG (UH Yes) (. .)))"], **LOOSE)
    assert found[0].template == "(ROOT (FRAG (UH) (.)))"
    assert found[0].text


def test_a_model_that_reads_templates_gets_one_of_a_whole_parse(models: dict[str, Path]) -> None:
    plain = SyntacticParaphraser.from_pretrained(models["by-template"])
    both = plain.paraphrase(LINES[:1], [WHOLE, TEMPLATES[0]], **LOOSE)[0]
    assert both[0].text == both[1].text
    assert both[0].template == both[1].template


def test_a_stock_model_searches_as_it_is_told(models: dict[str, Path]) -> None:
    writer = TemplatedWriter.from_pretrained(models["bart"], batch_size=3)
    assert writer.joined is not None
    assert writer.joined.model is writer.model
    assert writer.joined.batch_size == 3


def test_a_limit_saved_with_a_model_is_not_obeyed(models: dict[str, Path]) -> None:
    writer = TemplatedWriter.from_pretrained(models["scpn"])
    writer.model.generation_config.max_new_tokens = 1
    how = Writing(sample=True, top_p=1, outputs=5, max_tokens=4)
    ((outputs,),) = writer.write(["the cat sleeps ."], [["(ROOT (S (NP) (VP) (.)))"]], how)
    assert max(len(each.ids) for each in outputs) == 4
