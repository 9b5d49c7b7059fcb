from unittest.mock import Mock, call

import numpy as np
import pytest

from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.generation.paraphrase import SyntacticParaphraser
from paraphrastic_hf.generation.templated import TemplatedWriter
from paraphrastic_hf.generation.templates import first_tree
from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions
from paraphrastic_hf.syntax.parse_tokens import checked_tree, parse_text, parse_tokenizer
from paraphrastic_hf.syntax.parse_tree import LABELS
from paraphrastic_hf.syntax.parsed import ParsedLine
from paraphrastic_hf.text.overlap import ngram_overlap
from tests.generation import scpn

LINES = ["the girl wrote a letter in the garden .", "", "a man sold the paper at school .", "Ж"]
TREE = checked_tree("(S (NP (DT the) (NN girl)) (VP (VBD wrote) (NP (DT a) (NN letter))) (. .))")
TEMPLATES = ["(ROOT (S (NP) (VP) (.)))", "(S(PP)(,)(NP)(VP)(.))"]
WHOLE = "(S (NP (DT) (NN)) (VP (VBD) (NP (DT) (NN))) (.))"
LOOSE = {"min_overlap": None, "min_similarity": None}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    kinds = ("scpn", "parse-generator", "by-template", "paraphraser", "bart")
    return {kind: scpn.make(kind, folder) for kind in kinds}


@pytest.fixture
def paraphraser(models):
    return SyntacticParaphraser.from_pretrained(
        models["scpn"], generator=models["parse-generator"], parser=trees
    )


class LetterEncoder:
    """Counts of letters."""

    def encode(self, texts, *, normalize_embeddings):
        counts = np.array([[text.count(c) + 1e-9 for c in "abcdefghijklmn"] for text in texts])
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def test_trees_survive_tokenization():
    tokenizer = parse_tokenizer()
    text = "(S " + " ".join(f"({label} )" for label in sorted(LABELS)) + " )"
    assert tokenizer.decode(tokenizer.encode_batch([text])[0]) == text
    assert parse_text(TREE) == "(S (NP (DT ) (NN ) ) (VP (VBD ) (NP (DT ) (NN ) ) ) (. ) )"
    assert checked_tree(parse_text(TREE)).linear() == TREE.linear()


def test_the_parser_the_generator_and_scpn_work_together(paraphraser):
    found = paraphraser.paraphrase(LINES, TEMPLATES, **LOOSE)
    assert [len(each) for each in found] == [2, 2, 2, 2]
    written = ["(ROOT (S (NP) (VP) (.)))", "(ROOT (S (PP) (,) (NP) (VP) (.)))"]
    assert [one.template for one in found[0]] == written
    # lines that are blank, not parsed and without a known token each have a remark of their own
    assert len({one.remark for each in found[1:] for one in each}) == 3
    assert all(one.remark and not one.text for each in found[1:] for one in each)


def trees(lines):
    return [TREE if "girl" in line else None for line in lines]


class Parser:
    def parse(self, lines):
        nothing = ParsedLine.without_tree([], "empty")
        return [ParsedLine([], tree) if tree else nothing for tree in trees(lines)]


@pytest.mark.parametrize("parser", [Parser().parse, Parser()], ids=["lines", "parser"])
def test_a_parser_may_be_a_function_or_an_object(parser, models, paraphraser):
    given = models["scpn"], models["parse-generator"]
    other = SyntacticParaphraser.from_pretrained(given[0], generator=given[1], parser=parser)
    expected = paraphraser.paraphrase(LINES, TEMPLATES, **LOOSE)
    assert other.paraphrase(LINES, TEMPLATES, **LOOSE) == expected
    with pytest.raises(ModelError):
        SyntacticParaphraser.from_pretrained(given[0], parser="no/parser")


@pytest.mark.parametrize(
    ("given", "parse"),
    [
        (WHOLE, "(ROOT (S (NP (DT) (NN)) (VP (VBD) (NP (DT) (NN))) (.)))"),
        ("(ROOT (FRAG (UH Yes) (. .)))", "(ROOT (FRAG (UH) (.)))"),
    ],
)
def test_a_whole_parse_needs_no_generator(given, parse, models):
    alone = SyntacticParaphraser.from_pretrained(models["scpn"])
    (one,) = alone.paraphrase(LINES[:1], [given], **LOOSE)[0]
    assert one.parse == one.template == parse
    assert one.text
    assert one.nats < 0
    short = GenerationOptions(beams=3, max_tokens=2)
    (cut,) = alone.paraphrase(LINES[:1], [given], writing=short, **LOOSE)[0]
    assert cut.is_cut
    assert cut.remark
    with pytest.raises(DataError):
        alone.paraphrase(LINES[:1], TEMPLATES, **LOOSE)


def test_batched_templates_equal_single_ones(models, caplog):
    by_template = SyntacticParaphraser.from_pretrained(models["by-template"])
    together = by_template.paraphrase(LINES[::2], TEMPLATES, **LOOSE)
    for row, line in enumerate(LINES[::2]):
        for place, template in enumerate(TEMPLATES):
            (alone,) = by_template.paraphrase([line], [template], **LOOSE)[0]
            assert alone.text == together[row][place].text
            assert alone.nats == pytest.approx(together[row][place].nats, abs=1e-4)
    (whole,) = by_template.paraphrase(LINES[:1], [WHOLE], **LOOSE)[0]  # is cut to its template
    assert (whole.text, whole.template) == (together[0][0].text, together[0][0].template)
    (long,) = by_template.paraphrase(["the girl " * 250], TEMPLATES[:1], **LOOSE)[0]
    assert "501" in long.remark
    by_template.paraphrase(LINES[:1], ["(UCP (NAC) (NAC))"], **LOOSE)
    assert "(ROOT (UCP (NAC) (NAC)))" in caplog.text  # not in the training data


def test_templates_may_differ_per_sentence(paraphraser):
    lines = [LINES[0], "the girl saw it ."]
    own = [[TEMPLATES[0]], [WHOLE, TEMPLATES[1]]]
    together = paraphraser.paraphrase(lines, own, **LOOSE)
    assert [len(each) for each in together] == [1, 2]
    for line, templates, found in zip(lines, own, together, strict=True):
        for template, one in zip(templates, found, strict=True):
            (alone,) = paraphraser.paraphrase([line], [template], **LOOSE)[0]
            assert (alone.text, alone.parse) == (one.text, one.parse)
            assert alone.template == one.template
    malformed = [[each] for each in ("no tree", "(S (NP)", "(S (NP) (VQ))", "", "(S)")]
    for given in ([TEMPLATES], [TEMPLATES, TEMPLATES[0]], [TEMPLATES] * 3, *malformed):
        with pytest.raises(DataError):
            paraphraser.paraphrase(lines, given, **LOOSE)


@pytest.mark.parametrize("kind", ["by-template", "bart"])
def test_stock_models_have_the_same_interface(models, kind):
    loaded = SyntacticParaphraser.from_pretrained(models[kind])
    how = GenerationOptions(beams=3, outputs=2, max_tokens=10)
    found = loaded.paraphrase(LINES[:2], TEMPLATES, writing=how, **LOOSE)
    assert [len(each) for each in found] == [4, 4]
    assert loaded.top_templates(3)[0].startswith("(ROOT (S")
    assert len(loaded.top_templates(3)) == 3
    writer = TemplatedWriter.from_pretrained(models[kind], batch_size=3)
    assert (kind == "bart") == (writer.joined is not None)
    assert writer.joined is None or writer.joined.batch_size == 3


def test_canonicalise_needs_no_template(models):
    plain = SyntacticParaphraser.from_pretrained(models["paraphraser"])
    found = plain.canonicalise(LINES)
    assert (len(found), bool(found[0]), found[1]) == (4, True, "")
    with pytest.raises(DataError):
        plain.paraphrase(LINES, TEMPLATES, **LOOSE)
    with pytest.raises(DataError):
        plain.top_templates()


def test_the_filter_remarks_rejected_paraphrases(paraphraser):
    paraphraser.encoder = LetterEncoder()
    (one,) = paraphraser.paraphrase(LINES[:1], [WHOLE], min_overlap=None, min_similarity=0.0)[0]
    assert one.overlap == ngram_overlap(LINES[0], one.text, 1)
    strict = paraphraser.paraphrase(LINES[:1], [WHOLE], min_overlap=1.0, min_similarity=1.0)
    assert "overlap" in strict[0][0].remark
    assert "similarity" in strict[0][0].remark
    assert not strict[0][0].is_kept
    paraphraser.encoder = None
    with pytest.raises(DataError):
        paraphraser.paraphrase(LINES[:1], [WHOLE])


def test_unsuitable_models_are_refused(models):
    for name, options in (("parse-generator", {}), ("scpn", {"generator": models["scpn"]})):
        with pytest.raises(ModelError):
            SyntacticParaphraser.from_pretrained(models[name], **options)
    writer = TemplatedWriter.from_pretrained(models["scpn"])
    writer.model.config.template_vocab_size = 40
    with pytest.raises(ModelError):
        TemplatedWriter(writer.model, writer.tokenizer)
    with pytest.raises(DataError):
        SyntacticParaphraser(writer).paraphrase(LINES, **LOOSE)


@pytest.mark.parametrize("kind", ["scpn", "bart", "paraphraser"])
def test_a_saved_paraphraser_is_equal(kind, models, tmp_path):
    first = SyntacticParaphraser.from_pretrained(models[kind])
    first.save_pretrained(tmp_path / "again")
    again = SyntacticParaphraser.from_pretrained(tmp_path / "again")
    assert again.templates == first.templates
    assert bool(first.templates) == (kind != "paraphraser")
    templates = {"scpn": [WHOLE], "bart": TEMPLATES[:1], "paraphraser": None}[kind]
    written = [each.paraphrase(LINES, templates, **LOOSE) for each in (first, again)]
    assert [one.text for one in written[1][0]] == [one.text for one in written[0][0]]


def test_hub_options_reach_both_repositories(models, monkeypatch):
    found = Mock(side_effect=lambda name, **_: models[name])
    monkeypatch.setattr("paraphrastic_hf.generation.paraphrase.local_directory", found)
    options = {"revision": "old", "token": "hf_x"}
    SyntacticParaphraser.from_pretrained("scpn", generator="parse-generator", **options)
    # a revision is of one repository
    expected = [call("scpn", **options), call("parse-generator", token="hf_x")]
    assert found.call_args_list == expected
    monkeypatch.undo()
    with pytest.raises(TypeError):
        SyntacticParaphraser.from_pretrained(models["scpn"], revison="old")


def test_the_first_valid_parse_with_the_template_is_chosen():
    wanted = "(S (NP ) (VP ) )"
    written = ["(S (NP ) (VP )", "(S (VP (VB ) ) )", "(S (NP (DT ) ) (VP ) )"]
    assert first_tree(written, wanted) == "(S (NP (DT ) ) (VP ) )"
    assert first_tree(written[:2], wanted) == "(S (VP (VB ) ) )"
    assert first_tree(written[:1], wanted) == ""


def test_a_saved_length_limit_is_ignored(models):
    writer = TemplatedWriter.from_pretrained(models["scpn"])
    writer.model.generation_config.max_new_tokens = 1
    how = GenerationOptions(sample=True, top_p=1, outputs=5, max_tokens=4)
    ((outputs,),) = writer.write(["the cat sleeps ."], [["(ROOT (S (NP) (VP) (.)))"]], how)
    assert max(len(each.ids) for each in outputs) == 4


SOURCE = "a man sold the paper."
WRITTEN = {  # text, mean log-probability
    "(S (NP ) (VP ) (. ) )": ("the man sold a paper.", -3.0),
    "(S (PP ) (, ) (NP ) (VP ) (. ) )": ("A man SOLD the paper!", -0.1),  # equal to the source
    "(S (NP ) (VP ) )": ("the paper was sold by a man.", -0.2),
    "(SINV (VP ) (NP ) (. ) )": ("The man sold a paper", -0.5),  # equal to the first
    "(S (VP ) (. ) )": ("paper paper paper", -0.1),  # repeats a word
    "(NP (NP ) (. ) )": ("", float("nan")),
    "(S (CC ) (NP ) (VP ) (. ) )": ("and a man sold a paper", 0.0),
    "(S (ADVP ) (, ) (NP ) (VP ) (. ) )": ("now, a man sold a paper", 0.0),
    "(S (INTJ ) (, ) (NP ) (VP ) (. ) )": ("oh, a man sold a paper", 0.0),
    "": ("a man sold papers.", -0.3),  # without a template
}
BEST = ["the paper was sold by a man.", "a man sold papers.", "The man sold a paper"]


@pytest.mark.parametrize("encoder", [None, LetterEncoder()], ids=["alone", "encoder"])
def test_the_best_paraphrases_differ_and_are_ranked(encoder):
    counts = {text: 1 for text in WRITTEN if text}
    writer = scpn.Scripted(WRITTEN)
    paraphraser = SyntacticParaphraser(writer, templates=counts, encoder=encoder)
    lines = [SOURCE, SOURCE]
    found = paraphraser.best(lines, 9, **LOOSE)
    score = [
        one.nats + (one.similarity if encoder else 0.0)  # cosine and log-probability
        for one in found[0]
    ]
    assert score == sorted(score, reverse=True)
    assert {one.text for one in found[0]} == set(BEST)
    assert encoder is not None or [one.text for one in found[0]] == BEST
    assert paraphraser.best(lines, 2, **LOOSE) == [each[:2] for each in found]
    ((alone,),) = paraphraser.best([SOURCE], 9, ["(S (CC) (NP) (VP) (.))"], **LOOSE)
    assert alone.text == "and a man sold a paper"  # templates that were asked for are used
    writer.needs_template = True
    assert "a man sold papers." not in {one.text for one in paraphraser.best([SOURCE], **LOOSE)[0]}


class Beams(scpn.Scripted):
    def write(self, sources, templates, how):
        beams = [GeneratedText(*one, (5,)) for one in self.texts.values()][: how.outputs]
        return [[beams for _ in own] for own in templates]


def test_the_first_beam_with_the_template_is_chosen():
    writer = Beams({"1": ("no", -1.0), "2": ("yes", -1.0), "3": ("also", -0.5)})
    tree_of = {"no": None, "yes": TREE, "also": TREE}
    paraphraser = SyntacticParaphraser(writer, parser=lambda texts: [tree_of[t] for t in texts])
    found = paraphraser.paraphrase([SOURCE], [*TEMPLATES, WHOLE], **LOOSE)
    assert [one.text for one in found[0]] == ["yes", "no", "yes"]
    two = GenerationOptions(beams=3, outputs=2)
    found = paraphraser.paraphrase([SOURCE], TEMPLATES[:1], writing=two, **LOOSE)
    assert [one.text for one in found[0]] == ["no", "yes"]
    found = paraphraser.best([SOURCE], 9, TEMPLATES, **LOOSE)
    assert [one.text for one in found[0]] == ["also", "yes"]
