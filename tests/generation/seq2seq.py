"""A small stock encoder-decoder with a tokenizer of this package, as `AutoModelForSeq2SeqLM` and
`AutoTokenizer` load them."""

from pathlib import Path

import torch
from transformers import MarianConfig, MarianMTModel

from paraphrastic_hf.models.seq2seq.stock import generation_settings, marian_config
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer
from tests.texts import SENTENCES


def save_marian(folder: Path, positions: int = 64, is_trained_here: bool = False) -> None:
    """Write a Marian of random weights, with the padding of our recipes if `is_trained_here`."""
    subword = SubwordTokenizer.train(
        SENTENCES, vocab_size=300, lowercase=False, character_coverage=1.0
    )
    tokenizer = MarkedTokenizer(subword, "end")
    tokenizer.save(folder)
    torch.manual_seed(0)
    layers = {"layers": 1, "attention_heads": 2, "ffn_dim": 16}
    sizes = {f"{side}_{key}": n for side in ("encoder", "decoder") for key, n in layers.items()}
    sizes |= {"d_model": 16, "init_std": 0.5, "max_position_embeddings": positions}
    end, pad = tokenizer.special.end[0], tokenizer.special.pad
    if is_trained_here:
        model = MarianMTModel(marian_config(tokenizer.vocab_size, end, **sizes))
        model.generation_config = generation_settings(model.config)
    else:
        marks = {"pad_token_id": pad, "eos_token_id": end, "decoder_start_token_id": pad}
        sizes |= {"vocab_size": tokenizer.vocab_size, "forced_eos_token_id": None}
        model = MarianMTModel(MarianConfig(**marks, **sizes))
    model.save_pretrained(folder)
