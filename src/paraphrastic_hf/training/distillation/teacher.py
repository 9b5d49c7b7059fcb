"""Teacher vectors of a distillation run, computed once and cached on disk."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm.auto import tqdm

from paraphrastic_hf.config.recipe import imported
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.encoders.storage.ctranslate import Int8Encoder
from paraphrastic_hf.encoders.vectors import checked_vectors
from paraphrastic_hf.errors import CheckpointError, ModelError, RecipeError, refused
from paraphrastic_hf.io.files import read_json, replacing, write_json
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.training.distillation.recipe import TeacherArguments
from paraphrastic_hf.training.engine.paths import resolve_model

TEXTS_AT_A_TIME = 20_000  # texts per file of vectors. An interrupted file is computed again
META = "meta.json"
Encode = Callable[[Sequence[str]], np.ndarray]


def load_teacher(arguments: TeacherArguments, data_root: str | Path | None, work: Path) -> Encode:
    """Load a teacher as a function from texts to vectors, (texts, dim) float32.

    The folder `work` is for a model converted to CTranslate2.
    """
    if arguments.engine == "python":
        return _python_teacher(arguments.model)
    name = str(resolve_model(arguments.model, data_root))
    if arguments.engine == "ctranslate2":
        return Int8Encoder(
            name, max_length=arguments.max_length, work=work, prompt=arguments.prompt
        ).encode
    encoder = load_encoder(name)
    most = getattr(encoder, "max_seq_length", None)
    if isinstance(most, int):  # a transformer of sentence-transformers
        encoder.max_seq_length = min(most, arguments.max_length)
    if arguments.precision == "bfloat16":
        if not isinstance(encoder, torch.nn.Module):
            raise RecipeError(
                f"teachers: {arguments.model} is not a transformer, so its precision "
                f"{arguments.precision} has no effect. Remove the key `precision` of this teacher"
            )
        encoder = encoder.to(torch.bfloat16)
    return lambda texts: np.asarray(
        encoder.encode(list(texts), show_progress_bar=False, prompt=arguments.prompt)
    )


def _python_teacher(name: str) -> Encode:
    found = imported(name, "teachers.model with engine python")
    with refused(ModelError, f"Cannot load the teacher {name}"):
        made = found() if isinstance(found, type) else found
    encode = getattr(made, "encode", made)

    def vectors(texts: Sequence[str]) -> np.ndarray:
        with refused(ModelError, f"the teacher {name} failed"):
            return np.asarray(encode(list(texts)))

    return vectors


def teacher_vectors(
    texts: Sequence[str],
    teacher: TeacherArguments,
    load: Callable[[], Encode],
    directory: Path,
    *,
    stamp: str = "",
    progress: bool = False,
) -> np.ndarray:
    """Return a teacher's unit vectors of texts, (texts, dim) float16. Zero vectors stay zero.

    Vectors that an earlier run has written to `directory` are reused. `load` loads the teacher, if
    texts remain to be encoded. `stamp` is the teacher's `weights_stamp`.
    """
    output: np.ndarray | None = None
    encode: Encode | None = None
    with (
        locked(directory, doing="encoding"),
        tqdm(total=len(texts), desc="teacher", unit=" texts", disable=not progress) as bar,
    ):
        _claim(texts, teacher, stamp, directory)
        for start in range(0, len(texts), TEXTS_AT_A_TIME):
            chosen = texts[start : start + TEXTS_AT_A_TIME]
            path = directory / f"{start // TEXTS_AT_A_TIME:05}.npy"
            if path.exists():
                vectors = _read(path, len(chosen))
            else:
                encode = encode or load()
                vectors = _units(encode, chosen)
                with replacing(path) as partial, partial.open("wb") as file:
                    np.save(file, vectors)
            if output is None:
                output = np.empty((len(texts), vectors.shape[1]), np.float16)
            output[start : start + len(chosen)] = vectors
            bar.update(len(chosen))
    return np.zeros((0, 0), np.float16) if output is None else output


def side_by_side(
    vectors: Sequence[np.ndarray], weights: Sequence[float], dimension: int | None = None
) -> np.ndarray:
    """Concatenate the vectors of teachers. A cosine is then the weighted mean of their cosines.

    `vectors` are the unit vectors of each teacher, (texts, dim). The result, float16, is projected
    onto the `dimension` leading principal axes, unless this is None.

    Example:
        >>> one, other = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([[1.0], [1.0]])
        >>> both = side_by_side([one, other], [3, 1])
        >>> round(float(both[0] @ both[1]), 2)  # 3/4 of 0.6 plus 1/4 of 1
        0.7
    """
    shares = np.sqrt(np.asarray(weights) / np.sum(weights)).astype(np.float32)
    width = sum(part.shape[1] for part in vectors)

    def blocks() -> Iterator[np.ndarray]:
        for start in range(0, len(vectors[0]), TEXTS_AT_A_TIME):
            part = slice(start, start + TEXTS_AT_A_TIME)
            scaled = zip(vectors, shares, strict=True)
            yield np.concatenate([np.float32(each[part]) * share for each, share in scaled], 1)

    columns, axes = min(width, dimension or width), None
    if columns < width:
        moment = np.zeros((width, width))
        for block in blocks():
            moment += block.T @ block
        axes = np.linalg.eigh(moment)[1][:, ::-1][:, :columns].astype(np.float32)
    output = np.empty((len(vectors[0]), columns), np.float16)
    for number, block in enumerate(blocks()):
        rows = output[number * TEXTS_AT_A_TIME :][: len(block)]
        rows[:] = block if axes is None else block @ axes
    return output


def _claim(texts: Sequence[str], teacher: TeacherArguments, stamp: str, directory: Path) -> None:
    """Check that a folder has vectors of these texts and this teacher. Describe a new folder."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    own: dict[str, Any] = {
        "texts": len(texts),
        "sha256": digest.hexdigest(),
        "model": teacher.model,
        "engine": teacher.engine,
        "max_length": teacher.max_length,
    }
    if teacher.precision != "float32":
        own["precision"] = teacher.precision
    if teacher.prompt is not None:
        own["prompt"] = teacher.prompt
    path = directory / META
    begun = read_json(path) if path.exists() else own
    said = begun.get("identity") or stamp
    own["identity"] = stamp or said  # without a stamp, the teacher no longer exists
    if {**begun, "identity": said} != own:
        raise CheckpointError(
            f"{directory} has vectors of other texts, another teacher than {teacher.model}, or "
            "other settings. Use another folder, or remove this folder"
        )
    directory.mkdir(parents=True, exist_ok=True)
    write_json(path, own)


def _units(encode: Encode, texts: Sequence[str]) -> np.ndarray:
    vectors = checked_vectors(encode(texts), len(texts)).astype(np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: np.ndarray = (vectors / np.where(norms, norms, 1)).astype(np.float16)
    return units


def _read(path: Path, count: int) -> np.ndarray:
    with refused(CheckpointError, f"{path} is damaged. Remove it and repeat the command"):
        found: np.ndarray = np.load(path)
        if found.ndim != 2 or len(found) != count:
            raise ValueError(f"its shape is {found.shape}, and it should have {count} rows")
    return found
