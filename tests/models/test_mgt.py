from functools import partial

import pytest
import torch
from torch.nn import functional as F
from transformers import AutoModel, AutoModelForSeq2SeqLM

from paraphrastic_hf.models.generative.mgt import MGTConfig, MGTModel
from tests.models import test_bgt as bgt
from tests.models.test_bgt import END, VOCAB, side

SIZES = bgt.SIZES | {"languages": ["en", "fr", "zh"]}
PLAIN = {"reconstructs": False, "has_language_variables": False}
ROWS = {
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
BOTH = [FRENCH, CHINESE]
sides = partial(bgt.sides, texts=BOTH, languages=("fr", "zh"))


def make(row, **settings):
    torch.manual_seed(0)
    return MGTModel(MGTConfig(**{**SIZES, **ROWS[row], **settings}))


def terms(model, **options):
    return model.pair_terms(sides(), torch.tensor([0, 1]), **{"sample": False, **options})


def test_the_kl_weighs_sides_by_how_often_they_are_chosen():
    model = make("mgt").eval()
    found = [
        model.pair_terms(sides(), chosen=torch.tensor(chosen), sample=False).kl["semantic"].item()
        for chosen in ([0, 0], [1, 1], [0, 1])
    ]
    own = [
        model.posterior("semantic", ids[ids != 0], (ids != 0).sum(1)).kl().sum().item()
        for ids in (FRENCH, CHINESE)
    ]
    assert found == pytest.approx([*own, sum(own) / 2], rel=1e-5)


@pytest.mark.parametrize("row", ["mgt", "every place", "translation scored apart"])
def test_translations_are_scored_with_zeros_or_their_own_layer(row):
    """The loss of one translation, from the weights and torch's cross-entropy."""
    model = make(row).eval()
    text, other = CHINESE[1], FRENCH[0]
    meaning = model.posterior("semantic", other, torch.tensor([4])).mean
    before = torch.cat([torch.tensor([VOCAB + 2]), text[:-1]])
    own = model.translation_scorer
    scorer = own or model.shared_decoder.scorer
    latent = meaning if own else F.pad(meaning, (0, 8))
    states = model.shared_decoder(before[None], F.pad(meaning, (0, 8)))[0]
    logits = torch.cat([states, latent.expand(5, -1)], 1) @ scorer.weight.weight.T
    pair = [side("fr", FRENCH[:1]), side("zh", CHINESE[1:])]
    found = model.pair_terms(pair, chosen=torch.tensor([0]), sample=False)
    expected = F.cross_entropy(logits, text, reduction="sum")
    torch.testing.assert_close(found.nll["translate_zh"], expected)


@pytest.mark.parametrize("row", ["mgt", "translation"])
def test_adding_a_language_changes_nothing_else(row, tmp_path):
    model = make(row).eval()
    before, variables = terms(model), model.variables()
    assert {name[-2:] for name in before.nll} == {"fr", "zh"}  # of the pair
    vectors = model(FRENCH).sentence_embedding
    model.add_language("it")
    torch.testing.assert_close(model(FRENCH).sentence_embedding, vectors)
    torch.testing.assert_close(terms(model).nll, before.nll)
    model.save_pretrained(tmp_path)
    again = AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    assert again.variables() == variables + ["it"] * (row == "mgt")
    ids = again.generate(FRENCH[:1], task="translate_it", max_new_tokens=2)
    assert ids[0, 0] == VOCAB + 3
    loaded = AutoModel.from_pretrained(tmp_path)
    torch.testing.assert_close(loaded(FRENCH).sentence_embedding, vectors)
    for call, key in (
        *((partial(model.add_language, language), language) for language in ("it", "semantic")),
        (partial(model.generate, FRENCH, max_new_tokens=2), "translate_en"),  # needs a task
    ):
        with pytest.raises(ValueError, match=key):
            call()
