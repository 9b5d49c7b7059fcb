"""Encode many text files with the executors of `corpus make`, one task per file."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.encoders.storage.arrays import array_writer
from paraphrastic_hf.encoders.storage.fingerprint import named_hash
from paraphrastic_hf.encoders.vectors import unit_length
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import read_json, write_json
from paraphrastic_hf.io.lines import read_blocks
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.mining.store import file_stamp
from paraphrastic_hf.pipelines.executors.registry import run_stages
from paraphrastic_hf.pipelines.recipe import MakeArguments
from paraphrastic_hf.pipelines.stages import LastStage

FILES = "files.json"  # record of the model and the encoded files


class Encode(LastStage):
    """Stage that encodes the lines of a file and writes the vectors to `NAME.npy` in float32."""

    def __init__(
        self, files: Sequence[str], output: Path, model: str, *, normalize_embeddings: bool
    ) -> None:
        super().__init__("encode", output)
        self._files, self._output, self._model = list(files), output, model
        self._normalize = normalize_embeddings

    def work(self, data: object, rank: int) -> None:
        path = self._files[rank]
        with array_writer(vectors_path(self._output, path), is_shared=False) as write:
            encoder = load_encoder(self._model, num_threads=1)
            count = 0
            for block in read_blocks(path):
                with self.track_time("block"):
                    vectors = np.asarray(encoder.encode(block), np.float32)
                    write(block, unit_length(vectors) if self._normalize else vectors)
                    self.count(len(block), 0)
                count += len(block)
                self.report(len(block))
            if not count:
                raise DataError(f"{path} is empty. Expected one text per line")


def vectors_path(output: Path, path: str) -> Path:
    return output / f"{Path(path).name.partition('.')[0]}.npy"


def check_settings(record: Path, wanted: dict[str, Any]) -> None:
    """Record the settings of a new folder, or raise an error if the record has other settings."""
    folder = record.parent
    if record.exists():
        begun = read_json(record)
        other = [name for name in wanted if begun.get(name) != wanted[name]]
        if other:
            raise DataError(
                f"{folder} was started with another {' and '.join(other)}. Use another --output"
            )
    elif any(folder.iterdir()):
        raise DataError(f"{folder} is not empty. Choose another --output")
    write_json(record, wanted)


def encode_files(
    model: str,
    files: Sequence[str],
    output: str | os.PathLike[str],
    make: MakeArguments,
    *,
    normalize_embeddings: bool = False,
    progress: bool = False,
) -> int:
    """Encode files, one task each, and return how many wait for jobs of a cluster."""
    folder, names = Path(output), [str(Path(path).absolute()) for path in files]
    if not names:
        raise DataError("Give at least one file to encode")
    vectors = Counter(vectors_path(folder, name).name for name in names)
    if len(vectors) < len(names):
        repeated = vectors.most_common(1)[0][0]
        raise DataError(f"{repeated} would be written for two files of equal name. Rename one")
    stamps = [file_stamp(name) for name in names]
    wanted: dict[str, Any] = {
        "model": model,
        "model files": named_hash(model),
        "normalize_embeddings": normalize_embeddings,
        "files": names,
        "contents": stamps,
    }
    with locked(folder, doing="encoding"):
        check_settings(folder / FILES, wanted)
        with tqdm(desc="encoding", unit=" texts", unit_scale=True, disable=not progress) as bar:
            unfinished = run_stages(
                [Encode(names, folder, model, normalize_embeddings=normalize_embeddings)],
                replace(make, tasks=len(names)),
                folder / "logs",
                name="encode",
                on_rows=bar.update,
            )
    return len(unfinished)
