"""Languages with their piece overlap and a score: of one model on Tatoeba, or of a model a language
on English STS, as in the thesis (5.3.2)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.analysis.data_amount import chosen_pairs
from paraphrastic_hf.analysis.languages import Language, piece_overlap
from paraphrastic_hf.analysis.runs import Variant, run_variants
from paraphrastic_hf.data.load import load_dataset
from paraphrastic_hf.data.pairs import read_pairs
from paraphrastic_hf.data.sts_files import read_sts
from paraphrastic_hf.encoding.load import load_encoder
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.evaluation.run import evaluate
from paraphrastic_hf.evaluation.sts import AVERAGE
from paraphrastic_hf.training.arguments import SourceArguments
from paraphrastic_hf.training.contrastive_arguments import ContrastiveRecipe
from paraphrastic_hf.training.sources import read_sources

logger = logging.getLogger(__name__)

Distances = Mapping[str, Mapping[str, float]]
TATOEBA = {  # ISO 639-1 to Tatoeba's codes
    "ar": "ara", "bg": "bul", "cs": "ces", "da": "dan", "de": "deu", "el": "ell", "es": "spa",
    "et": "est", "fa": "pes", "fi": "fin", "fr": "fra", "he": "heb", "hi": "hin", "hr": "hrv",
    "hu": "hun", "id": "ind", "is": "isl", "it": "ita", "ja": "jpn", "ko": "kor", "lt": "lit",
    "lv": "lvs", "nl": "nld", "no": "nob", "pl": "pol", "pt": "por", "ro": "ron", "ru": "rus",
    "sk": "slk", "sl": "slv", "sr": "srp", "sv": "swe", "ta": "tam", "th": "tha", "tr": "tur",
    "uk": "ukr", "ur": "urd", "vi": "vie", "zh": "cmn",
}  # fmt: skip


def bitext_folders(folder: str | Path) -> dict[str, list[Path]]:
    """The files of each `en-XX` folder, by XX.

    Raises:
        DataError: There is no such folder.
    """
    names = sorted(path for path in Path(folder).glob("en-*") if path.name != "en-en")
    found = {path.name[3:]: sorted(path.glob("*.tsv*")) for path in names}
    found = {name: files for name, files in found.items() if files}
    if not found:
        raise DataError(f"{folder} has no folder en-XX with .tsv files of English and XX")
    return found


def of_one_model(
    encoder: Any,
    data_dir: str | Path,
    distances: Distances,
    *,
    bitext: str | Path | None = None,
    pairs: int = 10_000,
) -> list[Language]:
    """Languages with Tatoeba's accuracy, and overlap under the model's own tokenizer.

    Args:
        encoder: A `SentenceEncoder`.
        data_dir: Folder of the official files, with Tatoeba's.
        distances: To English, by language; languages that have none are left out.
        bitext: Folder of `en-XX` folders to measure overlap on; None for Tatoeba's own sentences.
        pairs: A random sample of so many of a language's bitext; languages with fewer are left out.

    Raises:
        ModelError: The model has no tokenizer of this package.
        DataError: Tatoeba or the bitext is not there.
    """
    tokenizer: Any = getattr(encoder, "tokenizer", None)
    if not hasattr(tokenizer, "encode_batch"):
        raise ModelError(
            f"{type(encoder).__name__} has no tokenizer of this package, whose pieces could be "
            "compared; give a model trained with it"
        )
    rows = {row["name"]: row for row in evaluate(encoder, "tatoeba", data_dir)["rows"]}
    found = []
    for name, code, texts in _texts(rows, Path(data_dir), bitext, pairs):
        if name in distances and code in rows:
            english, other = zip(*texts, strict=True)
            overlap = piece_overlap(tokenizer, english, other)
            score = rows[code]["scores"]["accuracy"]
            found.append(Language(name, len(texts), overlap, score, distances[name]))
    return found


def _texts(
    rows: Mapping[str, Any], data_dir: Path, bitext: str | Path | None, pairs: int
) -> Iterator[tuple[str, str, Sequence[tuple[str, str]]]]:
    """A language's name, Tatoeba's code of it, and pairs of English with it."""
    if bitext is None:
        for code in rows:
            data = load_dataset("tatoeba", code, data_dir=data_dir, streaming=True, split="test")
            yield code, code, [(row["eng"], row[code]) for row in data]
        return
    for name, files in bitext_folders(bitext).items():
        if name in TATOEBA:
            texts = [pair for path in files for pair in read_pairs(path)]
            if len(texts) >= pairs:
                picked = np.random.default_rng(1).permutation(len(texts))[:pairs]
                yield name, TATOEBA[name], [texts[i] for i in picked]


def of_runs(
    recipe: ContrastiveRecipe,
    folder: str | Path,
    bitext: str | Path,
    distances: Distances,
    *,
    pairs: int = 10_000,
    data_root: str | Path,
) -> list[Language]:
    """Languages with the STS 2012-2016 average of a model trained on English and that language.

    Args:
        recipe: What to train; the bitext takes its sources' place.
        folder: Runs are kept in its `runs`.
        bitext: Folder of `en-XX` folders; the first column is English.
        distances: To English, by language; languages that have none are left out.
        pairs: A random sample of so many of each; languages with fewer are left out.
        data_root: Folder that holds `eval`.

    Raises:
        DataError: A file is not there or damaged, or a year of STS is missing.
        RecipeError: The recipe has no development set, or `folder` holds runs of another.
    """
    read_sts(Path(data_root) / "eval")  # a missing year is found before hours of training
    variants, texts = {}, {}
    for name, files in bitext_folders(bitext).items():
        if name not in distances:
            continue
        sources = [SourceArguments(path=str(path), languages=["en", name]) for path in files]
        chosen = replace(recipe, data=replace(recipe.data, sources=sources))
        read = read_sources(chosen, data_root)
        numbers = np.random.default_rng(recipe.seed).permutation(sum(len(i.pairs) for i in read))
        if len(numbers) < pairs:
            logger.info("%s has %s pairs; left out", name, f"{len(numbers):,}")
            continue
        empty = replace(recipe, data=replace(recipe.data, sources=[]))
        picked = chosen_pairs(read, numbers[:pairs])  # the others need not stay in memory
        variants[f"{name}-{pairs}"] = Variant(empty, partial(list, picked))
        texts[name] = [(row["first"], row["second"]) for rows, _ in picked for row in rows]
    run_variants(variants, folder, recipe, data_root=data_root)
    found = []
    for name, kept in texts.items():
        run = Path(folder) / "runs" / f"{name}-{pairs}"
        encoder = load_encoder(run)
        overlap = piece_overlap(encoder.tokenizer, *zip(*kept, strict=True))
        results = evaluate(encoder, "sts", Path(data_root) / "eval", keep=run / "evaluation")
        score = results["headline"][AVERAGE]
        found.append(Language(name, pairs, overlap, score, distances[name]))
    return found
