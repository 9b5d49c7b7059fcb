import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch.nn import functional as F

from paraphrastic_hf.losses.vocabulary import Candidates
from paraphrastic_hf.models.generative.bgt import BGTConfig, BGTModel
from paraphrastic_hf.models.generative.latent import Side

VOCAB, END = 20, 19
SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": 8,
    "num_attention_heads": 2,
    "encoder_layers": 2,
    "intermediate_size": 16,
    "dropout": 0.0,
    "eos_token_id": END,
    "decoder_start_token_id": END,
}
PLAIN = {"has_language_variables": False, "is_variational": False}
ROWS = {
    "autoencoder": {"reconstructs": ["en"], "translates": [], **PLAIN},
    "vae": {"reconstructs": ["en"], "translates": [], **PLAIN, "is_variational": True},
    "english translation": {"reconstructs": [], "translates": ["fr"], **PLAIN},
    "multilingual translation": {"reconstructs": [], **PLAIN},
    "variational translation": {"reconstructs": [], **PLAIN, "is_variational": True},
    "without prior": {"is_variational": False},
    "bgt": {},
    "lstm": {
        "encoder_kind": "lstm",
        "decoder_kind": "lstm",
        "latent_at": ["word", "hidden", "attention", "logit"],
    },
    "word and hidden": {"latent_at": ["word", "hidden", "logit"]},
    "narrow": {"state_size": 4},
    "average added": {"adds_average": True},
    "average alone": {"encoder_kind": "average"},
}
ENGLISH = torch.tensor([[3, 4, 5, END], [6, 7, END, 0]])
FRENCH = torch.tensor([[8, 9, END, 0, 0], [10, 11, 12, 13, END]])
BOTH = [ENGLISH, FRENCH]


def side(language, ids, candidates=None):
    return Side(language, ids, (ids != 0).sum(1), candidates)


def make(row):
    torch.manual_seed(0)
    return BGTModel(BGTConfig(**{**SIZES, **ROWS[row]}))


def sides(
    candidates=(None, None),
    texts=BOTH,
    languages=("en", "fr"),
):
    return [side(*of) for of in zip(languages, texts, candidates, strict=True)]


def terms(model, **options):
    return model.pair_terms(sides(), torch.tensor([0, 1]), **{"sample": False, **options})


@pytest.mark.parametrize("row", ["bgt", "average added", "average alone"])
def test_token_vectors_average_to_the_embedding(row):
    """Initially these are rows of the table, in the rows of Table 48 that use its average."""
    model = make(row).eval()
    found = model(ENGLISH, (ENGLISH != 0).long())
    states, kept = found.last_hidden_state, (ENGLISH != 0)[..., None]
    mean = (states * kept).sum(1) / kept.sum(1)
    torch.testing.assert_close(mean, found.sentence_embedding, atol=1e-6, rtol=1e-5)
    if row != "bgt":
        rows = model.encoder_of("semantic").encoder.table.weight[ENGLISH[0]] * 8**0.5
        if row == "average alone":
            rows[3] = 0  # the end mark
        torch.testing.assert_close(found.sentence_embedding[0], rows.mean(0))


def test_the_loss_matches_the_equations():
    """Sentence by sentence without padding, with torch's cross-entropy."""
    model = make("bgt").eval()
    found = terms(model)
    nll = dict.fromkeys(model.tasks(), 0.0)
    kl = dict.fromkeys(model.variables(), 0.0)
    for number, texts in enumerate(zip(ENGLISH, FRENCH, strict=True)):
        ids = [text[text != 0] for text in texts]
        posterior = {
            (name, language): model.posterior(name, text, torch.tensor([len(text)]))
            for name in ("semantic", "en", "fr")
            for language, text in zip(("en", "fr"), ids, strict=True)
        }
        chosen = ("en", "fr")[number]  # the side that feeds reconstruction
        for own, other, text in (("en", "fr", ids[0]), ("fr", "en", ids[1])):
            written = {
                f"reconstruct_{own}": [posterior[own, own], posterior["semantic", chosen]],
                f"translate_{own}": [posterior["semantic", other]],
            }
            for task, variables in written.items():
                latent = torch.cat([of.mean for of in variables], 1)
                decoder = model.decoder_of(task)
                before = torch.cat([torch.tensor([END]), text[:-1]])
                states = decoder(before[None], latent)[0]
                rows = decoder.scorer.weight.weight
                logits = torch.cat([states, latent.expand(len(text), -1)], 1) @ rows.T
                nll[task] += F.cross_entropy(logits, text, reduction="sum").item()
            kl[own] += posterior[own, own].kl().item()
            kl["semantic"] += posterior["semantic", own].kl().item() / 2
    assert {task: value.item() for task, value in found.nll.items()} == pytest.approx(nll, rel=1e-4)
    assert {name: value.item() for name, value in found.kl.items()} == pytest.approx(kl, rel=1e-4)


@pytest.mark.parametrize("change", ["candidates", "sparse"])
def test_all_tokens_as_candidates_or_sparse_tables_change_nothing(change):
    everything = Candidates(torch.arange(VOCAB), torch.ones(VOCAB))
    results = []
    for is_changed in (False, True):
        model = make("bgt").train()
        for table in model.sparse_tables():
            table.sparse = is_changed and change == "sparse"
        candidates = [everything if is_changed and change == "candidates" else None] * 2
        found = model.pair_terms(
            sides(candidates), chosen=torch.tensor([0, 1]), sample=False, smoothing=0.1
        )
        total = sum(found.nll.values()) + sum(found.smoothing.values())
        total.backward()
        gradients = [w.grad.to_dense() for w in model.parameters() if w.grad is not None]
        results.append((total, gradients))
    torch.testing.assert_close(results[0], results[1])


def test_without_variance_or_sampling_the_mean_is_used():
    found = make("autoencoder").posterior("semantic", ENGLISH[0], torch.tensor([4]))
    torch.testing.assert_close(found.sample(), found.mean)
    model = make("bgt").train()
    first, again, drawn = (terms(model, sample=drawn).nll for drawn in (False, False, True))
    torch.testing.assert_close(first, again, rtol=0, atol=0)
    assert drawn["translate_fr"].item() != first["translate_fr"].item()


def test_unsupported_caches_and_tasks_are_refused():
    how = {"input_ids": ENGLISH[:1], "task": "translate_fr", "max_new_tokens": 4}
    for call, options, key in (
        (make("bgt").eval().generate, how | {"cache_implementation": "static"}, "cache_impl"),
        (make("lstm").eval().generate, how | {"use_cache": True}, "use_cache"),
        (make("bgt"), {"input_ids": ENGLISH, "labels": ENGLISH, "task": "to_de"}, "to_de"),
        (lambda **given: BGTModel(BGTConfig(**SIZES, **given)), {"variable": "de"}, "de"),
    ):
        with pytest.raises(ValueError, match=key):
            call(**options)


def test_another_variable_can_be_read_from_a_model_wrapped_by_accelerate():
    """accelerate replaces `forward` with one bound to the wrapped model."""
    model = make("bgt").eval()
    expected = model.reading("en")(ENGLISH[:1]).sentence_embedding
    AcceleratorState._reset_state()  # another test may have set another precision
    wrapped = Accelerator(cpu=True, mixed_precision="bf16").prepare_model(model)
    assert "forward" in vars(wrapped)
    torch.testing.assert_close(wrapped.reading("en")(ENGLISH[:1]).sentence_embedding, expected)


def test_cached_and_full_decoding_are_equal_and_labels_give_the_mean_loss():
    model = make("bgt").eval()
    asked = {"input_ids": ENGLISH[:1], "task": "translate_fr"}
    whole = model(**asked, decoder_input_ids=FRENCH[:1]).logits
    cache, rows = None, []
    for token in FRENCH[:1].T:
        step = model(**asked, decoder_input_ids=token[None], cache=cache, use_cache=True)
        cache = step.past_key_values
        rows.append(step.logits)
    torch.testing.assert_close(torch.cat(rows, 1), whole)
    assert model(**asked, decoder_input_ids=FRENCH[:1]).past_key_values is None
    model.config.return_dict = False
    labels = FRENCH.masked_fill(FRENCH == 0, -100)
    loss, *_ = model(ENGLISH, (ENGLISH != 0).long(), labels=labels, task="translate_fr")
    found = terms(model)
    torch.testing.assert_close(loss, found.nll["translate_fr"] / found.tokens["translate_fr"])
    assert isinstance(model(ENGLISH), tuple)
    assert model(ENGLISH, return_dict=True).sentence_embedding is not None


@pytest.mark.parametrize("task", [{"reconstructs": ["en"]}, {"translates": ["ar"]}])
def test_the_semantic_side_is_one_that_training_reads(task):
    """Arabic comes first, but neither an English autoencoder nor en-ar translation reads it."""
    only = {"reconstructs": [], "translates": [], **PLAIN, **task}
    model = BGTModel(BGTConfig(**{**SIZES, "languages": ["ar", "en"], **only}))
    assert model.side_of("semantic", ["ar", "en"]) == 1
    assert make("bgt").side_of("semantic", ["en", "fr"]) == 0
