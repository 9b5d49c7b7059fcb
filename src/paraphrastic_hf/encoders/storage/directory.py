"""Reads and writes model directories.

The files of a model directory are:

* `config.json`, `model.safetensors`: read by transformers. For averaging models
  sentence-transformers' `StaticEmbedding` also reads the weights. int8 and int4 tables need this
  package or the code saved with the model.
* `tokenizer.json`, `tokenizer_config.json`: read by transformers and `StaticEmbedding`.
  sentencepiece tokenizers add `spiece.model`, character n-grams `ngrams.json`, and mixtures
  `tokenizers/`.
* `paraphrastic_*.py`: code that `trust_remote_code=True` loads if this package is not installed.
* The files in `Layout.files`, which depend on the kind of model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedModel,
)

from paraphrastic_hf.encoders.static.table import Table, check_finite
from paraphrastic_hf.encoders.static.window import MEAN_SCALE, MOST_STEPS, Window
from paraphrastic_hf.encoders.storage.bounded import loading, no_progress_bar
from paraphrastic_hf.encoders.storage.locate import refuse_other_kind, shown_name
from paraphrastic_hf.encoders.storage.packing import packed
from paraphrastic_hf.errors import ModelError, disk_error
from paraphrastic_hf.io.files import (
    GENERATION_CONFIG,
    SENTENCE_TRANSFORMERS_FILES,
    STATIC_EMBEDDING,
    TOKENIZER_FILES,
    WEIGHTS,
    open_to_readers,
    read_json,
    remove,
    write_json,
)
from paraphrastic_hf.models.base import ParaphrasticModel, SentenceEncoderModel
from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel
from paraphrastic_hf.models.encoders.window import WindowConfig, WindowModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer

SAVED_PRECISIONS = ("float32", "bfloat16", "float16", "int8", "int4")
SHOWN = 3  # maximum number of names in a message
BRIDGE = "paraphrastic_hf.sbert.EncoderModule"


@dataclass(frozen=True)
class Layout:
    """Files and loaders of one kind of model."""

    loader: str  # public class that loads the model, a key of `locate.LOADED`
    auto_class: Any  # transformers' Auto class that loads it
    files: tuple[str, ...] = ()  # additional files, for generation or sentence embeddings
    takes_pairs: bool = False  # whether `token_type_ids` mark the second text of a pair


SENTENCE_ENCODER = Layout("SentenceEncoder", AutoModel, files=SENTENCE_TRANSFORMERS_FILES)
SUPERVISED = Layout("SentencePredictor", AutoModelForSequenceClassification, takes_pairs=True)
TAGGER = Layout("Tagger", AutoModelForTokenClassification)
PARSER = Layout("SentenceParser", AutoModelForTokenClassification)
LANGUAGE_MODEL = Layout("LanguageScorer", AutoModelForCausalLM, files=(GENERATION_CONFIG,))
GENERATIVE = Layout(
    "LatentGenerator", AutoModel, files=(GENERATION_CONFIG, *SENTENCE_TRANSFORMERS_FILES)
)
TRANSLATION = Layout("Translator", AutoModelForSeq2SeqLM, files=(GENERATION_CONFIG,))
LAYOUTS = (SENTENCE_ENCODER, SUPERVISED, TAGGER, PARSER, LANGUAGE_MODEL, GENERATIVE, TRANSLATION)


def save_model(
    model: PreTrainedModel,
    tokenizer: TextTokenizer,
    directory: Path,
    layout: Layout,
    *,
    precision: str = "float32",
    packed_rows: np.ndarray | None = None,
    modules: bool = True,
) -> None:
    """Write a model directory, replacing the model that it contains. `model` must be on the CPU.

    Files are first written to a subfolder, so a failure leaves the old model intact. The weights
    are moved last, so a directory with weights is complete. Unrelated files stay, and those of
    sentence-transformers if `modules` is False. `packed_rows` is a table already int8 or int4.
    """
    if precision not in SAVED_PRECISIONS:
        known = ", ".join(SAVED_PRECISIONS)
        raise ValueError(f"precision must be one of {known}, got {precision!r}")
    if precision in ("int8", "int4") and packed_rows is None:
        if not isinstance(model, AveragingModel):
            raise ValueError(f"{precision} requires an averaging model, got {type(model).__name__}")
        model = model.with_integers()
        packed_rows = packed(model.embedding.weight.detach().float().cpu().numpy(), precision)
    staged, is_new = directory / "model.part", not directory.exists()
    remove(staged)
    staged.mkdir(parents=True)
    try:
        if packed_rows is None:
            _write_model(model, staged, precision)
        else:
            _write_packed(model, staged, packed_rows)
        tokenizer.save(staged)
        if layout.takes_pairs:
            _name_token_types(staged / "tokenizer_config.json")
        if modules and set(SENTENCE_TRANSFORMERS_FILES) <= set(layout.files):
            _write_modules(model, tokenizer, staged)
        if GENERATION_CONFIG not in layout.files:
            remove(staged / GENERATION_CONFIG)
        kept = () if modules else SENTENCE_TRANSFORMERS_FILES
        for name in (WEIGHTS, *TOKENIZER_FILES, GENERATION_CONFIG, *SENTENCE_TRANSFORMERS_FILES):
            if name not in kept:  # remove files of the previous model
                remove(directory / name)
        for path in sorted(staged.iterdir(), key=lambda path: path.name == WEIGHTS):
            path.replace(directory / path.name)
    except (OSError, SafetensorError, ValueError) as error:
        if is_new:
            remove(directory)
        if isinstance(error, ValueError) or getattr(error, "filename", None) is not None:
            raise
        other = OSError(f"Cannot write {directory}: {error}")
        raise (disk_error(error, directory) or other) from error
    finally:
        remove(staged)


def _write_model(model: PreTrainedModel, directory: Path, precision: str) -> None:
    """Write config, code and weights. Tied weights are written once. Integers keep their type."""
    weights = {
        name: value.to(getattr(torch, precision)) if value.is_floating_point() else value
        for name, value in model.state_dict().items()
        if name not in model.all_tied_weights_keys
    }
    for name, value in weights.items() if precision == "float16" else ():
        if not value.isfinite().all():
            raise ValueError(f"{name} has values too large for float16. Use bfloat16")
    with no_progress_bar():
        model.save_pretrained(directory, state_dict=weights)
    open_to_readers(directory / WEIGHTS)


def _write_packed(model: AveragingModel, directory: Path, rows: np.ndarray) -> None:
    model.config.packed = True
    state = {"embedding.packed": torch.from_numpy(rows), **model.packed_state()}
    try:
        with no_progress_bar():
            model.save_pretrained(directory, state_dict=state)
    finally:
        model.config.packed = False
    open_to_readers(directory / WEIGHTS)


def _name_token_types(path: Path) -> None:
    if path.exists():
        settings = read_json(path)
        names = ["input_ids", "attention_mask", "token_type_ids"]
        write_json(path, {**settings, "model_input_names": names})


def _write_modules(model: PreTrainedModel, tokenizer: TextTokenizer, directory: Path) -> None:
    """Write sentence-transformers' files. The model's class is `StaticEmbedding` for averages of an
    unpacked table without marks, else that in `paraphrastic_hf/sbert.py`.
    """
    is_stock = type(model) is AveragingModel and (directory / "tokenizer.json").exists()
    is_stock = is_stock and not isinstance(tokenizer, MarkedTokenizer)
    is_stock = is_stock and not read_json(directory / "config.json").get("packed")
    module = {"idx": 0, "name": "0", "path": "", "type": STATIC_EMBEDDING if is_stock else BRIDGE}
    settings = {"model_type": "SentenceTransformer", "prompts": {}, "similarity_fn_name": "cosine"}
    for name, content in zip(SENTENCE_TRANSFORMERS_FILES, ([module], settings), strict=True):
        write_json(directory / name, content)


def load_model(directory: Path) -> SentenceEncoderModel:
    """Load the encoder in a model directory, as float32 in evaluation mode."""
    return load_pretrained(directory, SENTENCE_ENCODER)  # type: ignore[return-value]


def load_pretrained(directory: Path, layout: Layout) -> ParaphrasticModel:
    """Load a model directory with the Auto class of `layout`, as float32 in evaluation mode."""
    if not directory.exists():
        raise ModelError(f"{directory} does not exist. Pass a folder of `paraphrastic train`")

    def check(config: Any) -> None:
        refuse_other_kind(str(config.model_type), directory, layout.loader)

    model = load_whole(directory, layout.auto_class, check)
    check_weights(directory, model)
    return model.eval()  # type: ignore[no-any-return]


def load_whole(
    directory: Path,
    auto_class: Any,
    check: Callable[[Any], None],
    *,
    trust_remote_code: bool = False,
) -> Any:
    """Load a model as float32, if `check` accepts its config and no weight is missing."""
    trust: Any = {"trust_remote_code": trust_remote_code}
    with loading(directory):
        config = AutoConfig.from_pretrained(directory, **trust)
        check(config)
        model, report = auto_class.from_pretrained(
            directory, config=config, dtype=torch.float32, output_loading_info=True, **trust
        )
    missing = sorted(report["missing_keys"])  # without tied weights
    if missing:
        more = f" and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
        raise ModelError(
            f"The weights of {shown_name(directory)} lack {', '.join(missing[:SHOWN])}{more}. "
            "Download or train the model again"
        )
    return model


def check_weights(name: object, model: PreTrainedModel) -> None:
    """Raise an error if a weight is NaN or infinite."""
    for key, weight in model.named_parameters():
        if not weight.isfinite().all():
            check_finite(weight.detach().float().cpu().numpy(), f"{key} of {name}")


def model_of_table(table: Table) -> AveragingModel:
    """Build the model of a token table, in evaluation mode."""
    model: AveragingModel
    if table.window is None:
        config = AveragingConfig(vocab_size=len(table.numbers), hidden_size=table.dimension)
        model = AveragingModel(config)
        model.load_state_dict({"embedding.weight": torch.from_numpy(table.rows())})
    else:
        model = _window_model(table, table.window)
    return model.eval()


def _window_model(table: Table, window: Window) -> WindowModel:
    rows, span, features = window.context.shape
    config = WindowConfig(
        vocab_size=len(table.numbers),
        hidden_size=table.dimension,
        window=span // 2,
        features=features,
        context_rows=rows,
        context_size=None,
        hidden=len(window.hidden_bias),
    )
    state = {
        "embedding.weight": table.rows(),
        "context.weight": np.float32(window.context.reshape(rows, -1)) / MOST_STEPS,
        "bias": np.float32(window.bias) / MOST_STEPS,
        "output.weight": window.outer[:features].T * MOST_STEPS,
    }
    if config.hidden:
        state |= {
            "from_mean.weight": window.inner[: table.dimension].T / MEAN_SCALE,
            "from_mean.bias": window.hidden_bias,
            "from_features.weight": window.inner[table.dimension :].T * MOST_STEPS,
            "from_hidden.weight": window.outer[features:].T,
        }
    model = WindowModel(config)
    model.load_state_dict({name: torch.tensor(np.float32(value)) for name, value in state.items()})
    return model
