"""A small stock encoder-decoder with a tokenizer of this package, as `AutoModelForSeq2SeqLM` and
`AutoTokenizer` load them."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import MarianConfig, MarianMTModel

from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer
from tests.texts import SENTENCES


def save_marian(folder: Path, positions: int = 64) -> None:
    """Write a Marian of random weights."""
    subword = SubwordTokenizer.train(
        SENTENCES, vocab_size=300, lowercase=False, character_coverage=1.0
    )
    tokenizer = MarkedTokenizer(subword, "end")
    tokenizer.save(folder)
    torch.manual_seed(0)
    layers = {"layers": 1, "attention_heads": 2, "ffn_dim": 16}
    config = MarianConfig(
        vocab_size=tokenizer.vocab_size,
        d_model=16,
        **{f"{side}_{key}": n for side in ("encoder", "decoder") for key, n in layers.items()},
        init_std=0.5,
        pad_token_id=tokenizer.special.pad,
        eos_token_id=tokenizer.special.end[0],
        decoder_start_token_id=tokenizer.special.pad,
        forced_eos_token_id=None,
        max_position_embeddings=positions,
    )
    MarianMTModel(config).save_pretrained(folder)
