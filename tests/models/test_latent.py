"""Properties of every generative model of pairs, for the rows of Tables 48 and 56."""

import pytest
import torch

from paraphrastic_hf.losses.vocabulary import Candidates
from tests.models import test_bgt as bgt
from tests.models import test_mgt as mgt

MODELS = {f"{file.__name__[-3:]} {row}": (file, row) for file in (bgt, mgt) for row in file.ROWS}
TEXTS = torch.tensor([[3, 4, 5, bgt.END], [6, 7, bgt.END, 0]])
MASK = (TEXTS != 0).long()


@pytest.fixture(params=MODELS)
def file(request):
    """The test module of a family, which builds its models and pairs."""
    return MODELS[request.param][0]


@pytest.fixture
def model(request, file):
    return file.make(MODELS[request.node.callspec.params["file"]][1])


def test_every_weight_is_trained(model, file):
    """The keys' bias cannot change a softmax, but it shares a tensor with the values' bias."""
    found = file.terms(model.train(), sample=True, smoothing=0.1)
    total = sum(found.nll.values()) + sum(found.kl.values(), torch.zeros(()))
    total.backward()
    weights = [(name, each) for name, each in model.named_parameters() if each.requires_grad]
    assert [name for name, each in weights if each.grad is None or not each.grad.any()] == []


def test_padding_and_other_texts_do_not_change_an_embedding(model):
    close = {"atol": 1e-6, "rtol": 1e-5}
    for variable in model.eval().variables():
        model.read_variable(variable)
        together = model(TEXTS, MASK).sentence_embedding
        lengths = torch.cat([MASK.sum(1), torch.zeros(1, dtype=torch.long)])  # plus an empty text
        flat = model(TEXTS[MASK.bool()], lengths=lengths).sentence_embedding
        torch.testing.assert_close(together, flat[:2], **close)
        assert flat[0].any()
        assert not flat[2].any()
        alone = model(TEXTS[1:, :3]).sentence_embedding
        torch.testing.assert_close(together[1:], alone, **close)
        junk = TEXTS.masked_fill(MASK == 0, 7)
        torch.testing.assert_close(model(junk, MASK).sentence_embedding, together)


def test_rows_used_include_every_row_with_a_gradient(model, file):
    for table in model.train().sparse_tables():
        table.sparse = True
    candidates = [Candidates(ids.unique(), torch.ones(len(ids.unique()))) for ids in file.BOTH]
    inputs = {"sides": file.sides(candidates), "chosen": torch.tensor([0, 1])}
    named = {id(table): set(rows.tolist()) for table, rows in model.rows_used(inputs)}
    sum(model.pair_terms(**inputs).nll.values()).backward()
    for table in model.sparse_tables():
        if table.weight.grad is not None:
            assert set(table.weight.grad.coalesce().indices()[0].tolist()) <= named[id(table)]


def test_greedy_generation_follows_the_logits(model):
    """In a batch, with a cache if the decoder has one."""
    for task in model.eval().tasks():
        how = {"task": task, "max_new_tokens": 6, "do_sample": False}
        ids = model.generate(TEXTS, attention_mask=MASK, **how)
        logits = model(TEXTS, MASK, task=task, decoder_input_ids=ids).logits
        for line, scores in zip(ids.tolist(), logits, strict=True):
            assert line[0] == model.start_of(task)
            for place, token in enumerate(line[1:]):
                if bgt.END in line[1 : place + 1]:  # padding after the end
                    break
                assert token == scores[place].argmax().item()
