import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding

from tests.bert import save_bert
from tests.made import averaging


@pytest.fixture
def encoder(subword):
    return averaging(subword)


@pytest.fixture
def saved(encoder, tmp_path):
    encoder.save_pretrained(tmp_path / "saved")
    return tmp_path / "saved"


@pytest.fixture
def stock(subword):
    """sentence-transformers' static averaging of the same pieces."""
    torch.manual_seed(3)
    return SentenceTransformer(modules=[StaticEmbedding(subword.to_fast(), embedding_dim=8)])


@pytest.fixture(scope="session")
def transformer_folder(tmp_path_factory):
    return save_bert(tmp_path_factory.mktemp("transformer"))


@pytest.fixture
def transformer(transformer_folder):
    return SentenceTransformer(str(transformer_folder))
