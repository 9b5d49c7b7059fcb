"""Models converted to CTranslate2: for the engine of the corpus pipelines, and 8-bit teachers.

On a CPU, a teacher with 8-bit weights is two to three times as fast as torch.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from paraphrastic_hf.encoders.storage.bounded import loading, no_progress_bar
from paraphrastic_hf.encoders.storage.fingerprint import files_hash
from paraphrastic_hf.encoders.storage.locate import as_directory, check_model_name, local_directory
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.files import SETTINGS, read_json, replacing, write_json

CONVERTED = "model.bin"  # every CTranslate2 directory has it
POSITIONS = "position_embedding_type"
ABSOLUTE = ("bert", "roberta", "xlm-roberta", "camembert")  # their converters require POSITIONS
BATCH_SIZE = 32
TRANSFORMER, POOLING, NORMALIZE = "Transformer", "Pooling", "Normalize"
ADVICE = "Use engine torch, which runs any model"


def converted(
    name: str | os.PathLike[str], *, work: Path | None, advice: str, precision: str = "int8"
) -> Path:
    """Return the directory of a model converted to CTranslate2, on first use and after a local
    model has changed. `work` is its folder (None: beside a local model), `advice` ends the message
    of an error.
    """
    require("corpora", "ctranslate2", what="the engine ctranslate2")
    check_model_name(name)
    found = Path(as_directory(name))
    source = found if found.is_dir() else None
    if source is not None and (source / CONVERTED).is_file():
        return source
    target = (work or found.parent) / f"{Path(name).name}-ctranslate2-{precision}"
    if source is not None:  # models of one name but different content get separate copies
        target = target.with_name(f"{target.name}-{files_hash(source)[:8]}")
    if (target / CONVERTED).is_file():
        return target
    from ctranslate2.converters import TransformersConverter

    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (
            replacing(target, is_shared=True) as partial,
            no_progress_bar(),
            _with_positions(source) as folder,
        ):
            converter = TransformersConverter(str(folder or name))
            converter.convert(str(partial), quantization=precision)
    except Exception as error:  # the converter and transformers raise many kinds
        if isinstance(error, OSError) and error.errno is not None:  # a full disk
            raise
        raise ModelError(
            f"CTranslate2 cannot convert {name}: {str(error).strip() or repr(error)}. {advice}"
        ) from error
    return target


@contextmanager
def _with_positions(source: Path | None) -> Iterator[Path | None]:
    """Yield a model directory with `POSITIONS` in its config, which transformers 5 omits."""
    if source is None:
        yield source
        return
    config: dict[str, Any] = read_json(source / "config.json")
    if config.get("model_type") not in ABSOLUTE or POSITIONS in config:
        yield source
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for path in source.iterdir():
            if path.name != "config.json":
                (folder / path.name).symlink_to(path.resolve())
        write_json(folder / "config.json", {**config, POSITIONS: "absolute"})
        yield folder


class Int8Encoder:
    """A mean-pooling transformer on the CPU with 8-bit weights. Texts are cut to `max_length`
    tokens, at least 3. `work` is as in `converted`. `prompt` is prepended to every text (None: the
    model's default prompt).
    """

    def __init__(
        self,
        name: str | os.PathLike[str],
        *,
        max_length: int = 128,
        work: Path | None = None,
        prompt: str | None = None,
    ) -> None:
        require("corpora", "ctranslate2", what="the engine ctranslate2")
        directory = local_directory(name)
        _refuse_unless_averaged(directory)
        import ctranslate2
        from transformers import AutoTokenizer

        folder = converted(directory, work=work, advice=ADVICE)
        with loading(directory, "the tokenizer"):
            self.tokenizer: Any = AutoTokenizer.from_pretrained(directory, trust_remote_code=False)
        self.max_length = max_length
        self.prompt = _default_prompt(directory) if prompt is None else prompt
        self._model = ctranslate2.Encoder(
            str(folder), device="cpu", compute_type="int8", intra_threads=torch.get_num_threads()
        )

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return unit-length embeddings of texts, (texts, dim) float32."""
        if not len(texts):
            return np.zeros((0, 0), np.float32)
        prompted = [self.prompt + text for text in texts]
        ids = self.tokenizer(prompted, truncation=True, max_length=self.max_length)["input_ids"]
        lengths = np.array([len(text) for text in ids])
        order = np.argsort(lengths, kind="stable")
        means = []
        for start in range(0, len(order), BATCH_SIZE):
            chosen = order[start : start + BATCH_SIZE]
            states = self._model.forward_batch([ids[number] for number in chosen])
            states = np.asarray(states.last_hidden_state)  # (batch, seq, dim)
            is_token = np.arange(states.shape[1]) < lengths[chosen, None]
            means.append((states * is_token[..., None]).sum(1))
        vectors = np.empty((len(ids), means[0].shape[1]), np.float32)
        vectors[order] = np.concatenate(means)
        units: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return units


def _default_prompt(directory: Path) -> str:
    path = directory / SETTINGS
    settings = read_json(path) if path.is_file() else {}
    return str((settings.get("prompts") or {}).get(settings.get("default_prompt_name"), ""))


def _refuse_unless_averaged(directory: Path) -> None:
    """Raise an error unless a model is a transformer with mean pooling and optionally a norm."""
    try:
        modules = read_json(directory / "modules.json")
        kinds = [module["type"].rpartition(".")[2] for module in modules]
        pooling = next(m["path"] for m in modules if m["type"].rpartition(".")[2] == POOLING)
        settings = read_json(directory / pooling / "config.json")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration) as error:
        raise ModelError(f"{directory} has no sentence-transformers modules. {ADVICE}") from error
    modes = [name for name, is_on in settings.items() if is_on is True and "mode" in name]
    mode = settings.get("pooling_mode", modes[0] if len(modes) == 1 else None)
    averages = mode in ("mean", "pooling_mode_mean_tokens")
    if kinds[:2] != [TRANSFORMER, POOLING] or kinds[2:] not in ([], [NORMALIZE]) or not averages:
        raise ModelError(
            f"engine ctranslate2 requires a transformer with mean pooling, but {directory} has "
            f"{', '.join(kinds)} with pooling {mode}. {ADVICE}"
        )
