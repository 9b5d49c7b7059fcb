"""Loads and checks encoder-decoders."""

import os
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer

from paraphrastic_hf.encoders.storage.bounded import loading
from paraphrastic_hf.encoders.storage.locate import shown_name
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.models.generative.latent import LatentModel

SHOWN = 3  # maximum number of names in a message


def load_whole(directory: Path, *, trust_remote_code: bool = False) -> Any:
    """Load an encoder-decoder from a directory in float32."""
    with loading(directory):
        trust: Any = {"trust_remote_code": trust_remote_code}
        config = AutoConfig.from_pretrained(directory, **trust)
        is_known = type(config) in AutoModelForSeq2SeqLM._model_mapping
        if not is_known and "AutoModelForSeq2SeqLM" not in getattr(config, "auto_map", {}):
            raise ModelError(
                f"{shown_name(directory)} is a {config.model_type!r} model, not an encoder-decoder"
            )
        model, report = AutoModelForSeq2SeqLM.from_pretrained(
            directory, config=config, dtype=torch.float32, output_loading_info=True, **trust
        )
    missing = sorted(report["missing_keys"])  # without tied weights
    if missing:
        more = f" and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
        raise ModelError(
            f"The weights of {shown_name(directory)} lack {', '.join(missing[:SHOWN])}{more}"
        )
    return model


def load_stock_tokenizer(directory: Path, *, trust_remote_code: bool = False) -> Any:
    with loading(directory, "the tokenizer"):
        return AutoTokenizer.from_pretrained(directory, trust_remote_code=trust_remote_code)


def check_weights(name: str | os.PathLike[str], model: Any) -> None:
    """Raise an error if a weight is NaN or infinite."""
    for key, weight in model.named_parameters():
        if not weight.isfinite().all():
            raise ModelError(f"{name} is damaged: {key} has NaN or infinite values")


def check_tokenizer(
    name: str | os.PathLike[str], model: Any, tokens: int, end: int | None = None
) -> None:
    """Raise an error if a tokenizer belongs to another model."""
    rows = model.get_input_embeddings().weight.shape[0]
    ends = model.generation_config.eos_token_id
    wrong = []
    if tokens > rows:
        wrong.append(f"it has {tokens:,} tokens, the model has {rows:,}")
    if None not in (ends, end) and end not in (ends if isinstance(ends, list) else [ends]):
        wrong.append(f"its eos token is {end}, the model's is {ends}")
    if wrong:
        raise ModelError(f"The tokenizer in {name} belongs to another model: {'; '.join(wrong)}")


def check_translator(name: str | os.PathLike[str], model: Any, tokenizer: Any) -> None:
    """Raise an error if a model is not a plain translator or does not fit its tokenizer."""
    if isinstance(model, LatentModel):
        raise ModelError(
            f"{name} is a generative model of several tasks ({', '.join(model.tasks())}). Use "
            "`paraphrastic translate --to` or LatentGenerator"
        )
    writes_parses = getattr(model.config, "writes", "sentence") == "parse"
    if writes_parses or getattr(model, "reads_template", False):
        raise ModelError(
            f"{name} reads templates or writes parses. See `paraphrastic paraphrase --help`"
        )
    check_weights(name, model)
    if tokenizer.pad_token_id is None:
        raise ModelError(
            f"The tokenizer in {name} has no padding token. Check its tokenizer_config.json"
        )
    check_tokenizer(name, model, len(tokenizer), tokenizer.eos_token_id)
