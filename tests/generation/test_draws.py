from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import torch

from paraphrastic_hf.generation.gauges import importance_weighted_nll, measure
from paraphrastic_hf.generation.latent import LatentGenerator
from paraphrastic_hf.generation.templated import TemplatedWriter
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.generation.writing import GenerationOptions
from paraphrastic_hf.models.generative.bgt import BGTConfig, BGTModel
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from tests.generation import scpn, test_gauges
from tests.generation.seq2seq import save_marian
from tests.texts import SENTENCES

SAMPLES = partial(GenerationOptions, sample=True, outputs=4, max_tokens=8)


def translating(folder):
    save_marian(folder)
    translator = Translator.from_pretrained(folder)
    how = {"sample": True, "outputs": 4, "max_tokens": 8, "top_p": 0.9}
    return lambda seed: translator.translate(SENTENCES[:3], seed=seed, temperature=1.5, **how)


def from_variables(folder):
    tokenizer = MarkedTokenizer(WordTokenizer.train(SENTENCES, vocab_size=60), "end")
    torch.manual_seed(0)
    end = tokenizer.special.end[0]
    sizes = {"vocab_size": tokenizer.vocab_size, "hidden_size": 8, "state_size": 8}
    sizes |= {"num_attention_heads": 2, "encoder_layers": 1, "intermediate_size": 8}
    model = BGTModel(BGTConfig(**sizes, eos_token_id=end, decoder_start_token_id=end)).eval()
    generator, to = LatentGenerator(model, tokenizer), model.config.languages[0]
    return lambda seed: generator.translate(SENTENCES[:3], to=to, writing=SAMPLES(seed=seed))


def with_templates(folder):
    writer = TemplatedWriter.from_pretrained(scpn.make("untemplated", folder))
    return lambda seed: writer.write(SENTENCES[:3], [[""]] * 3, SAMPLES(seed=seed))


def gauging(folder):
    model = test_gauges.deaf(1.0)
    given = model, test_gauges.SENTENCES, test_gauges.pairs(model), 100
    return lambda seed: (
        importance_weighted_nll(*given, draws=20, seed=seed),
        measure(*given, seed=seed),
    )


@pytest.mark.parametrize(
    "made",
    [translating, from_variables, pytest.param(with_templates, marks=pytest.mark.slow), gauging],
)
def test_samples_depend_only_on_the_seed(made, tmp_path):
    drawn = made(tmp_path)
    seeds = [1, 2, 3, 1] * 6
    expected = {seed: drawn(seed) for seed in set(seeds)}
    assert len({repr(each) for each in expected.values()}) == 3
    state = torch.get_rng_state()
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(drawn, seeds))
    assert torch.equal(torch.get_rng_state(), state)
    assert [repr(each) for each in found] == [repr(expected[seed]) for seed in seeds]


def test_samples_equal_those_of_transformers(tmp_path):
    """By oracle: `generate(do_sample=True)` from a global state of the same seed."""
    save_marian(tmp_path)
    translator = Translator.from_pretrained(tmp_path)
    how = {"top_p": 0.8, "temperature": 1.3}
    (found,) = translator.translate(
        SENTENCES[:1], sample=True, outputs=5, max_tokens=9, seed=4, **how
    )
    inputs = translator.tokenizer(SENTENCES[:1], return_tensors="pt")
    torch.manual_seed(4)
    stock = translator.model.generate(
        **inputs, do_sample=True, num_beams=1, num_return_sequences=5, top_k=0, max_new_tokens=9,
        max_length=None, **how,
    )  # fmt: skip
    pad = translator.tokenizer.pad_token_id
    of_stock = [tuple(number for number in row[1:] if number != pad) for row in stock.tolist()]
    assert [tuple(n for n in each.ids if n != pad) for each in found] == of_stock
