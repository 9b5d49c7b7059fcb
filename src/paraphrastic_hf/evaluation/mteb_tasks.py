"""Encoders of this package in `mteb`, and mteb's tasks on local official files, offline.

    encoder = MtebEncoder(SentenceEncoder.from_pretrained("english"))
    mteb.evaluate(encoder, local_tasks("DATA/eval"), cache=None)

Install mteb with `pip install 'paraphrastic-hf[mteb]'`. The tasks follow mteb's protocol, so scores
can differ from `paraphrastic evaluate` on the same files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.encoders.vectors import checked_vectors, cosine_matrix, pairwise_cosine
from paraphrastic_hf.errors import DataError, MissingFileError
from paraphrastic_hf.evaluation.suites.pairs import corpus_rows
from paraphrastic_hf.extras import require

YEARS = ("12", "13", "14", "15", "16")
STS17_PAIRS = {"en-en": "en-en", "ar-ar": "ar-ar", "en-ar": "ar-en", "es-es": "es-es",
               "es-en": "es-en", "en-tr": "tr-en"}  # fmt: skip
TATOEBA_NAMES = {"deu": "deu-eng", "fra": "fra-eng", "spa": "spa-eng", "rus": "rus-eng",
                 "tur": "tur-eng", "ara": "ara-eng", "ces": "ces-eng", "cmn": "cmn-eng",
                 "jpn": "jpn-eng"}  # fmt: skip
XNLI_LANGUAGES = ("en", "ar", "de", "es", "fr", "ru", "tr", "zh")


class MtebEncoder:
    """Adapter of any object with `encode(list of texts)` to mteb's encoder interface.

    Args:
        name: Name in mteb's results, `organization/name`.
    """

    def __init__(self, encoder: Any, name: str | None = None, **options: Any) -> None:
        require("mteb", "mteb", what="MtebEncoder")
        from mteb.models.model_meta import ModelMeta

        self.encoder = encoder
        name = name or f"paraphrastic/{getattr(encoder, 'name', None) or type(encoder).__name__}"
        self.mteb_model_meta = ModelMeta.create_empty({"name": name, "revision": "local"})

    def encode(self, inputs: Any, **options: Any) -> np.ndarray:
        """Encode the texts of mteb's batches, (texts, dim)."""
        texts = [text for batch in inputs for text in batch["text"]]
        return checked_vectors(self.encoder.encode(texts), len(texts))

    def similarity(self, embeddings1: Any, embeddings2: Any) -> np.ndarray:
        """Return the cosine of every vector with every vector of the other array."""
        return cosine_matrix(np.asarray(embeddings1), np.asarray(embeddings2))

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> np.ndarray:
        """Return the cosine of each pair of vectors, (pairs,)."""
        return pairwise_cosine(np.asarray(embeddings1), np.asarray(embeddings2))


def local_tasks(data_dir: str | Path, names: Sequence[str] | None = None) -> list[Any]:
    """Return mteb's tasks whose official files are in `data_dir`.

    The tasks are STS12 to STS17, STSBenchmark, SICK-R, Tatoeba, and XNLI on its development sets.

    Args:
        names: Names of the tasks to return. None for all tasks with files.
    """
    unknown = [name for name in names or () if name not in TASKS]
    if unknown:
        raise DataError(f"No local task {unknown[0]!r}. Available: {', '.join(TASKS)}")
    tasks = []
    for name in names or TASKS:
        try:
            tasks.append(TASKS[name](name, data_dir))
        except MissingFileError:
            if names:
                raise
    return tasks


def _filled(name: str, subsets: dict[str, Any], split: str) -> Any:
    require("mteb", "mteb", what=f"the task {name}")
    import mteb

    is_single = list(subsets) == ["default"]
    options: dict[str, Any] = {} if is_single else {"hf_subsets": list(subsets)}
    task = mteb.get_task(name, eval_splits=[split], **options)
    task.dataset = {key: {split: rows} for key, rows in subsets.items()}
    if is_single:
        task.dataset = task.dataset["default"]
    task.data_loaded = True
    return task


def _scored(corpus: str, config: str | None = None) -> Callable[[str, str | Path], Any]:
    def make(name: str, data_dir: str | Path) -> Any:
        return _filled(name, {"default": _pairs(corpus_rows(data_dir, corpus, config))}, "test")

    return make


def _pairs(rows: list[dict]) -> Any:
    import datasets

    columns = [key for key in ("sentence1", "sentence2", "score") if key in rows[0]]
    return datasets.Dataset.from_dict({key: [row[key] for row in rows] for key in columns})


def _sts17(name: str, data_dir: str | Path) -> Any:
    subsets = {
        theirs: _pairs(corpus_rows(data_dir, "sts17", ours)) for theirs, ours in STS17_PAIRS.items()
    }
    return _filled(name, subsets, "test")


def _tatoeba(name: str, data_dir: str | Path) -> Any:
    import datasets

    subsets = {}
    for language, theirs in TATOEBA_NAMES.items():
        rows = corpus_rows(data_dir, "tatoeba", language)
        columns = {"sentence1": [r[language] for r in rows], "sentence2": [r["eng"] for r in rows]}
        subsets[theirs] = datasets.Dataset.from_dict(columns)
    return _filled(name, subsets, "test")


def _xnli(name: str, data_dir: str | Path) -> Any:
    subsets = {}
    for language in XNLI_LANGUAGES:
        rows = corpus_rows(data_dir, "xnli", language, split="validation")
        rows = [row for row in rows if row["label"] != 1]
        subsets[language] = [
            {
                "sentence1": [row["sentence1"] for row in rows],
                "sentence2": [row["sentence2"] for row in rows],
                "labels": [int(row["label"] == 0) for row in rows],
            }
        ]
    return _filled(name, subsets, "validation")


TASKS: dict[str, Callable[[str, str | Path], Any]] = {
    **{f"STS{year}": _scored("sts", f"sts{year}") for year in YEARS},
    "STS17": _sts17,
    "STSBenchmark": _scored("stsb"),
    "SICK-R": _scored("sick"),
    "Tatoeba": _tatoeba,
    "XNLI": _xnli,
}
