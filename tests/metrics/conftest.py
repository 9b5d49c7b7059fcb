from __future__ import annotations

from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding, Transformer
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
from transformers.utils import logging as transformers_logging

from paraphrastic_hf import AveragingConfig, AveragingModel, SentenceEncoder
from paraphrastic_hf.text.load import TextTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sleeps", "a", "dog", "##s", "runs"]


def averaging(tokenizer: TextTokenizer) -> SentenceEncoder:
    torch.manual_seed(3)
    config = AveragingConfig(vocab_size=tokenizer.vocab_size, hidden_size=8)
    return SentenceEncoder(AveragingModel(config).eval(), tokenizer)


@pytest.fixture
def encoder(subword: SubwordTokenizer) -> SentenceEncoder:
    return averaging(subword)


@pytest.fixture
def saved(encoder: SentenceEncoder, tmp_path: Path) -> Path:
    encoder.save_pretrained(tmp_path / "saved")
    return tmp_path / "saved"


@pytest.fixture
def stock(subword: SubwordTokenizer) -> SentenceTransformer:
    """sentence-transformers' static averaging of the same pieces."""
    torch.manual_seed(3)
    return SentenceTransformer(modules=[StaticEmbedding(subword.to_fast(), embedding_dim=8)])


@pytest.fixture(scope="session")
def transformer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers model: one layer of BERT over `WORDS`, 16 positions."""
    folder = tmp_path_factory.mktemp("transformer")
    vocabulary = {token: i for i, token in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]"}
    options = {f"{kind}_token": token for kind, token in names.items()}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=16, **options)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=16,
    )
    transformers_logging.disable_progress_bar()
    torch.manual_seed(4)
    BertModel(config).save_pretrained(folder / "bert")
    fast.save_pretrained(folder / "bert")
    modules = [Transformer(str(folder / "bert")), Pooling(8)]
    SentenceTransformer(modules=modules).save(str(folder / "model"))
    return folder / "model"


@pytest.fixture
def transformer(transformer_folder: Path) -> SentenceTransformer:
    return SentenceTransformer(str(transformer_folder))
