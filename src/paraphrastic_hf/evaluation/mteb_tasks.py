"""Encoders of this package in `mteb`, and mteb's tasks on local official files, offline.

    encoder = MtebEncoder(SentenceEncoder.from_pretrained("english"))
    mteb.evaluate(encoder, local_tasks("DATA/eval"), cache=None)

Install mteb with `pip install 'paraphrastic-hf[mteb]'`. The tasks follow mteb's protocol, so scores
can differ from `paraphrastic evaluate` on the same files.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.encoders.vectors import checked_vectors, cosine_matrix, pairwise_cosine
from paraphrastic_hf.errors import DataError, MissingFileError
from paraphrastic_hf.evaluation.suites.pairs import corpus_rows
from paraphrastic_hf.extras import require

# name of a task -> corpus, and its configurations by mteb's names of the subsets
TASKS: dict[str, tuple[str, Mapping[str, str | None]]] = {
    **{f"STS{year}": ("sts", {"default": f"sts{year}"}) for year in range(12, 17)},
    "STS17": (
        "sts17",
        {pair: pair for pair in ("en-en", "ar-ar", "es-es", "es-en")}
        | {"en-ar": "ar-en", "en-tr": "tr-en"},
    ),
    "STSBenchmark": ("stsb", {"default": None}),
    "SICK-R": ("sick", {"default": None}),
    "Tatoeba": (
        "tatoeba",
        {
            f"{language}-eng": language
            for language in ("deu", "fra", "spa", "rus", "tur", "ara", "ces", "cmn", "jpn")
        },
    ),
    "XNLI": ("xnli", {each: each for each in ("en", "ar", "de", "es", "fr", "ru", "tr", "zh")}),
}


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
    """Return mteb's tasks whose official files are in `data_dir`, or the tasks with these names.

    The tasks are STS12 to STS17, STSBenchmark, SICK-R, Tatoeba, and XNLI on its development sets.
    """
    tasks = []
    for name in names or TASKS:
        if name not in TASKS:
            raise DataError(f"No local task {name!r}. Available: {', '.join(TASKS)}")
        try:
            tasks.append(_load(name, data_dir))
        except MissingFileError:
            if names:
                raise
    return tasks


def _load(name: str, data_dir: str | Path) -> Any:
    corpus, configs = TASKS[name]
    split = "validation" if corpus == "xnli" else "test"
    subsets = {
        subset: {split: _columns(corpus_rows(data_dir, corpus, config, split=split), config)}
        for subset, config in configs.items()
    }
    require("mteb", "mteb", what=f"the task {name}")
    import mteb

    is_single = list(subsets) == ["default"]
    options: dict[str, Any] = {} if is_single else {"hf_subsets": list(subsets)}
    task = mteb.get_task(name, eval_splits=[split], **options)
    task.dataset = subsets["default"] if is_single else subsets
    task.data_loaded = True
    return task


def _columns(rows: list[dict[str, Any]], config: str | None) -> Any:
    """Return the rows of STS, Tatoeba or XNLI as mteb's task reads them."""
    import datasets

    if "eng" in rows[0]:
        rows = [{"sentence1": row[str(config)], "sentence2": row["eng"]} for row in rows]
    if "label" in rows[0] and "score" not in rows[0]:  # neutral pairs are left out
        rows = [{**row, "labels": int(row["label"] == 0)} for row in rows if row["label"] != 1]
    names = [key for key in ("sentence1", "sentence2", "score", "labels") if key in rows[0]]
    columns = {name: [row[name] for row in rows] for name in names}
    return [columns] if "labels" in columns else datasets.Dataset.from_dict(columns)
