"""Loads and checks encoder-decoders."""

import os
from pathlib import Path
from typing import Any

from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from paraphrastic_hf.encoders.storage.bounded import loading
from paraphrastic_hf.encoders.storage.directory import check_weights, load_whole
from paraphrastic_hf.encoders.storage.locate import shown_name
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.models.generative.latent import LatentModel


def load_translation_model(directory: Path, *, trust_remote_code: bool = False) -> Any:
    """Load an encoder-decoder from a directory in float32."""

    def check(config: Any) -> None:
        is_known = type(config) in AutoModelForSeq2SeqLM._model_mapping
        if not is_known and "AutoModelForSeq2SeqLM" not in getattr(config, "auto_map", {}):
            raise ModelError(
                f"{shown_name(directory)} is a {config.model_type!r} model, not an encoder-decoder"
            )

    trust: Any = {"trust_remote_code": trust_remote_code}
    model = load_whole(directory, AutoModelForSeq2SeqLM, check, **trust)
    check_weights(shown_name(directory), model)
    return model


def load_stock_tokenizer(directory: Path, *, trust_remote_code: bool = False) -> Any:
    with loading(directory, "the tokenizer"):
        return AutoTokenizer.from_pretrained(directory, trust_remote_code=trust_remote_code)


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
    if tokenizer.pad_token_id is None:
        raise ModelError(
            f"The tokenizer in {name} has no padding token. Check its tokenizer_config.json"
        )
    check_tokenizer(name, model, len(tokenizer), tokenizer.eos_token_id)
