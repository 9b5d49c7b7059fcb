import pytest
import torch

from paraphrastic_hf.models.encoders.mixed import MixedConfig, MixedModel
from tests.models.encoders import MIXTURES, VOCAB, new_encoder

IDS = [[3, 7, 25, 22], [9, 9, 11, 30]]


def of_parts(model):
    """Return each part's vectors of its own ids, renumbered from 0."""
    vectors = []
    for number, part in enumerate(model.parts):
        own = [[i - VOCAB * number for i in text if i // VOCAB == number] for text in IDS]
        ids = [torch.tensor([text], dtype=torch.long) for text in own]
        vectors.append(torch.cat([part(text).sentence_embedding for text in ids]))
    return vectors


@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("pooled_only", [True, False])
def test_a_mixture_adds_or_concatenates_its_parts(name, pooled_only):
    model = new_encoder(name)
    vectors = of_parts(model)
    expected = sum(vectors) if model.config.combine == "add" else torch.cat(vectors, 1)
    for ids in (IDS, [text[2:] + text[:2] for text in IDS]):  # in either order of the parts
        found = model(torch.tensor(ids), pooled_only=pooled_only).sentence_embedding
        torch.testing.assert_close(found, expected)


def test_token_vectors_of_different_sizes_are_not_added():
    config = MixedConfig.of(
        [new_encoder("averaging").config, new_encoder("projection").config], "add"
    )
    model = MixedModel(config)
    assert model(torch.tensor(IDS), pooled_only=True).sentence_embedding.shape == (2, 6)
    with pytest.raises(ValueError, match="pooled_only"):
        model(torch.tensor(IDS))
