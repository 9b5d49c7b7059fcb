"""The multilingual generative transformer: one encoder and one decoder for several languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from transformers import AutoModel, AutoModelForSeq2SeqLM

from paraphrastic_hf.losses.vocabulary import Candidates
from paraphrastic_hf.models.generative.mgt import MGTConfig, MGTModel
from paraphrastic_hf.models.generative.pair_terms import PairTerms, Side

VOCAB, END = 20, 19
SIZES: dict[str, Any] = {
    "vocab_size": VOCAB,
    "languages": ["en", "fr", "zh"],
    "hidden_size": 8,
    "encoder_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "dropout": 0.0,
    "eos_token_id": END,
    "decoder_start_token_id": END,
}
PLAIN = {"reconstructs": False, "has_language_variables": False}
ROWS: dict[str, dict[str, Any]] = {
    "translation": {**PLAIN, "is_variational": False},
    "variational translation": PLAIN,
    "without prior": {"is_variational": False},
    "mgt": {},
    "translation scored apart": {"has_translation_scorer": True},
    "every place": {"latent_at": ["word", "hidden", "attention", "logit"]},
    "narrow": {"state_size": 4, "encoder_layers": 1},
    "average added": {"adds_average": True},
    "average alone": {"encoder_kind": "average", "has_language_variables": False},
}
FRENCH = torch.tensor([[3, 4, 5, END], [6, 7, END, 0]])
CHINESE = torch.tensor([[8, 9, END, 0, 0], [10, 11, 12, 13, END]])


def make(row: str, **settings: Any) -> MGTModel:
    torch.manual_seed(0)
    return MGTModel(MGTConfig(**{**SIZES, **ROWS[row], **settings}))


@pytest.fixture(params=ROWS)
def row(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def side(language: str, ids: torch.Tensor, candidates: Candidates | None = None) -> Side:
    return Side(language, ids, (ids != 0).sum(1), candidates)


def terms(model: MGTModel, **options: Any) -> PairTerms:
    sides = [side("fr", FRENCH), side("zh", CHINESE)]
    chosen = torch.tensor([0, 1])
    found: PairTerms = model(sides=sides, chosen=chosen, **{"sample": False, **options})
    return found


def test_every_weight_is_trained_by_pairs_of_two_languages(row: str) -> None:
    """All but the rows of languages and tokens that the pairs do not have."""
    model = make(row).train()
    found = terms(model, sample=True, smoothing=0.1)
    total = sum(found.nll.values()) + sum(found.kl.values(), torch.zeros(()))
    total.backward()
    idle = [
        name
        for name, weight in model.named_parameters()
        if weight.grad is None or not weight.grad.any()
    ]
    assert idle == []


def test_the_prior_pulls_at_a_side_as_often_as_it_is_chosen() -> None:
    model = make("mgt").eval()
    sides = [side("fr", FRENCH), side("zh", CHINESE)]
    found = [
        model(sides=sides, chosen=torch.tensor(chosen), sample=False).kl["semantic"].item()
        for chosen in ([0, 0], [1, 1], [0, 1])
    ]
    own = [
        model.posterior("semantic", ids[ids != 0], (ids != 0).sum(1)).kl().sum().item()
        for ids in (FRENCH, CHINESE)
    ]
    assert found == pytest.approx([*own, sum(own) / 2], rel=1e-5)


def test_only_the_languages_of_a_pair_are_written_and_inferred() -> None:
    found = terms(make("mgt"))
    assert set(found.nll) == {
        f"{v}_{c}" for v in ("translate", "reconstruct") for c in ("fr", "zh")
    }
    assert set(found.kl) == {"semantic", "fr", "zh"}


def test_padding_and_company_do_not_change_an_embedding(row: str) -> None:
    model = make(row).eval()
    mask = (FRENCH != 0).long()
    for variable in model.variables():
        model.read_variable(variable)
        together = model(FRENCH, mask)
        flat = model(FRENCH[mask.bool()], lengths=mask.sum(1)).sentence_embedding
        alone = model(FRENCH[1:, :3]).sentence_embedding
        torch.testing.assert_close(together.sentence_embedding, flat, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(together.sentence_embedding[1:], alone, atol=1e-6, rtol=1e-5)


def test_a_text_without_tokens_is_the_zero_vector() -> None:
    found = make("mgt").eval()(FRENCH[0], lengths=torch.tensor([4, 0])).sentence_embedding
    assert found[0].any()
    assert not found[1].any()


def test_each_variable_of_a_sentence_is_another_vector() -> None:
    model = make("mgt").eval()
    vectors = [model.reading(name)(FRENCH[:1]).sentence_embedding for name in model.variables()]
    for number, first in enumerate(vectors):
        assert not any(torch.allclose(first, other) for other in vectors[number + 1 :])


@pytest.mark.parametrize("row", ["mgt", "every place", "translation scored apart"])
def test_a_translation_is_scored_with_zeros_or_by_a_layer_of_its_own(row: str) -> None:
    """The loss of one translation, from the weights and torch's cross-entropy."""
    model = make(row).eval()
    text, other = CHINESE[1], FRENCH[0]
    meaning = model.posterior("semantic", other, torch.tensor([4])).mean
    before = torch.cat([torch.tensor([VOCAB + 2]), text[:-1]])
    own = model.translation_scorer
    if own is None:
        latent, scorer = F.pad(meaning, (0, 8)), model.shared_decoder.scorer
    else:
        latent, scorer = meaning, own
    states = model.shared_decoder(before[None], F.pad(meaning, (0, 8)))[0]
    logits = torch.cat([states, latent.expand(5, -1)], 1) @ scorer.weight.weight.T
    sides = [side("fr", FRENCH[:1]), side("zh", CHINESE[1:])]
    found = model(sides=sides, chosen=torch.tensor([0]), sample=False)
    expected = F.cross_entropy(logits, text, reduction="sum")
    torch.testing.assert_close(found.nll["translate_zh"], expected)


def test_rows_used_name_every_row_that_has_a_gradient() -> None:
    model = make("translation scored apart").train()
    for table in model.sparse_tables():
        table.sparse = True
    candidates = [
        Candidates(ids.unique(), torch.ones(len(ids.unique()))) for ids in (FRENCH, CHINESE)
    ]
    sides = [side("fr", FRENCH, candidates[0]), side("zh", CHINESE, candidates[1])]
    inputs = {"sides": sides, "chosen": torch.tensor([0, 1])}
    named = {id(table): set(rows.tolist()) for table, rows in model.rows_used(inputs)}
    sum(model(**inputs).nll.values()).backward()
    for table in model.sparse_tables():
        used = set(table.weight.grad.coalesce().indices()[0].tolist())
        assert used
        assert used <= named[id(table)]


def test_what_is_generated_begins_with_its_language_and_is_what_the_scores_say(row: str) -> None:
    model = make(row).eval()
    mask = (FRENCH != 0).long()
    for task in model.tasks():
        ids = model.generate(FRENCH, attention_mask=mask, task=task, max_new_tokens=6)
        logits = model(FRENCH, mask, task=task, decoder_input_ids=ids).logits
        for line, scores in zip(ids.tolist(), logits, strict=True):
            assert line[0] == VOCAB + ["en", "fr", "zh"].index(task[-2:])
            for place, token in enumerate(line[1:]):
                if END in line[1 : place + 1]:  # padding after the end
                    break
                assert token == scores[place].argmax().item()


def test_a_new_language_leaves_what_the_model_knows_as_it_was(tmp_path: Path) -> None:
    model = make("mgt").eval()
    before = terms(model)
    vectors = model(FRENCH).sentence_embedding
    model.add_language("it")
    torch.testing.assert_close(model(FRENCH).sentence_embedding, vectors)
    assert {k: v.item() for k, v in terms(model).nll.items()} == pytest.approx(
        {k: v.item() for k, v in before.nll.items()}
    )
    model.save_pretrained(tmp_path)
    again = AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    assert again.variables() == ["semantic", "en", "fr", "zh", "it"]
    ids = again.generate(FRENCH[:1], task="translate_it", max_new_tokens=2)
    assert ids[0, 0] == VOCAB + 3
    torch.testing.assert_close(
        AutoModel.from_pretrained(tmp_path)(FRENCH).sentence_embedding, vectors
    )
    with pytest.raises(ValueError, match="has the language 'it' already"):
        model.add_language("it")
    with pytest.raises(ValueError, match="must have a code such as en, got 'semantic'"):
        model.add_language("semantic")


def test_a_translator_takes_in_a_language_without_a_variable_of_it() -> None:
    model = make("translation").eval()
    before = model(FRENCH).sentence_embedding
    model.add_language("it")
    torch.testing.assert_close(model(FRENCH).sentence_embedding, before)
    assert model.tasks()[-1] == "translate_it"
    assert model.variables() == ["semantic"]


def test_what_to_write_must_be_said() -> None:
    with pytest.raises(ValueError, match="task must say what to write, one of translate_en, "):
        make("mgt").eval().generate(FRENCH, max_new_tokens=2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"languages": ["en"]}, "languages must be two or more"),
        ({"languages": ["en", "fr", "en"]}, "languages must differ"),
        ({"languages": ["en", "semantic"]}, "a language must have a code such as en"),
        ({"encoder_kind": "lstm"}, "an MGT is a transformer"),
        ({"reconstructs": False}, "has_language_variables needs reconstructs"),
        ({"encoder_kind": "average"}, "an average reads every language alike"),
        (
            {
                "has_language_variables": False,
                "reconstructs": False,
                "has_translation_scorer": True,
            },
            "has_translation_scorer needs reconstructs",
        ),
    ],
)
def test_settings_without_a_meaning_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        MGTConfig(**{**SIZES, **settings})
