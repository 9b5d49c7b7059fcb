"""Piece overlap with English and a score for each language (thesis, 5.3.2).

The score is either the Tatoeba accuracy of one multilingual model or, as in the thesis, the English
STS score of a model trained on the language's pairs with English.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.analyses.data_amount import chosen_pairs
from paraphrastic_hf.analyses.languages import Language, piece_overlap
from paraphrastic_hf.analyses.runs import Variant, run_variants
from paraphrastic_hf.corpora.folder import evaluation_files
from paraphrastic_hf.corpora.load import load_dataset
from paraphrastic_hf.corpora.readers.sts_files import read_sts
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.errors import DataError, ModelError, counted
from paraphrastic_hf.evaluation.run import evaluate
from paraphrastic_hf.evaluation.suites.sts import AVERAGE
from paraphrastic_hf.io.files import visible_files
from paraphrastic_hf.io.pairs import read_pairs
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.data.sources import read_sources, sides_of
from paraphrastic_hf.training.data.tokenizers import train_tokenizers
from paraphrastic_hf.training.engine.recipe import SourceArguments

logger = logging.getLogger(__name__)

Distances = Mapping[str, Mapping[str, float]]
TATOEBA = {  # ISO 639-1 code -> Tatoeba's code
    "ar": "ara", "bg": "bul", "cs": "ces", "da": "dan", "de": "deu", "el": "ell", "es": "spa",
    "et": "est", "fa": "pes", "fi": "fin", "fr": "fra", "he": "heb", "hi": "hin", "hr": "hrv",
    "hu": "hun", "id": "ind", "is": "isl", "it": "ita", "ja": "jpn", "ko": "kor", "lt": "lit",
    "lv": "lvs", "nl": "nld", "no": "nob", "pl": "pol", "pt": "por", "ro": "ron", "ru": "rus",
    "sk": "slk", "sl": "slv", "sr": "srp", "sv": "swe", "ta": "tam", "th": "tha", "tr": "tur",
    "uk": "ukr", "ur": "urd", "vi": "vie", "zh": "cmn",
}  # fmt: skip


def bitext_folders(folder: str | Path) -> dict[str, list[Path]]:
    """Return the bitext files in each folder `en-XX`, by the language code XX."""
    names = sorted(path for path in Path(folder).glob("en-*") if path.name != "en-en")
    found = {path.name[3:]: visible_files(path, "*.tsv*") for path in names}
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
    """Score one model on every language: accuracy on Tatoeba, and piece overlap with its tokenizer.

    Overlap is measured on a sample of `pairs` from the `en-XX` folders of `bitext` (default: all of
    Tatoeba). Languages without distances to English or with fewer pairs are left out.
    """
    tokenizer: Any = getattr(encoder, "tokenizer", None)
    if not hasattr(tokenizer, "encode_batch"):
        raise ModelError(
            f"{type(encoder).__name__} has no tokenizer of this package. Give another model"
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
    apart: bool = False,
    data_root: str | Path,
) -> list[Language]:
    """Train a model per language on its pairs with English. Score it by the STS 2012-2016 average.

    The files in the `en-XX` folders of `bitext` have English in the first column. A run samples
    `pairs` of them. Languages without distances to English or with fewer pairs are left out.

    `apart` gives the two languages separate pieces (`tokenizer.apart`), as the thesis does by
    marking the pieces of one language. The overlap is measured on joint pieces.
    """
    read_sts(evaluation_files(data_root))  # find a missing year before hours of training
    variants, texts = {}, {}
    shared: dict[str, TextTokenizer] = {}  # with `apart`: joint tokenizers of both languages
    ending = "-apart" if apart else ""
    for name, files in bitext_folders(bitext).items():
        if name not in distances:
            continue
        sources = [SourceArguments(path=str(path), languages=["en", name]) for path in files]
        chosen = replace(recipe, data=replace(recipe.data, sources=sources))
        read = read_sources(chosen, data_root)
        numbers = np.random.default_rng(recipe.seed).permutation(sum(len(i.pairs) for i in read))
        if len(numbers) < pairs:
            logger.info("Left out %s, which has only %s", name, counted(len(numbers), "pair"))
            continue
        empty = replace(recipe, data=replace(recipe.data, sources=[]))
        picked = chosen_pairs(read, numbers[:pairs])  # frees the memory of the other pairs
        if apart:
            joint = partial(sides_of, read_sources(empty, data_root, list(picked)))
            shared[name] = train_tokenizers(recipe.encoders, joint, recipe.seed)
            empty = replace(empty, tokenizer=replace(recipe.tokenizer, apart=[name]))
        variants[f"{name}-{pairs}{ending}"] = Variant(empty, partial(list, picked))
        texts[name] = [(row["first"], row["second"]) for rows, _ in picked for row in rows]
    run_variants(variants, folder, recipe, data_root=data_root)
    found = []
    for name, kept in texts.items():
        run = Path(folder) / "runs" / f"{name}-{pairs}{ending}"
        encoder = load_encoder(run)
        tokenizer = shared.get(name, encoder.tokenizer)
        overlap = piece_overlap(tokenizer, *zip(*kept, strict=True))
        results = evaluate(encoder, "sts", evaluation_files(data_root), keep=run / "evaluation")
        score = results["headline"][AVERAGE]
        found.append(Language(name, pairs, overlap, score, distances[name]))
    return found
