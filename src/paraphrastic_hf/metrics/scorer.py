"""SimiLE of texts: scores hypotheses against references (thesis, 7.2.1)."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from tokenizers import Tokenizer

import paraphrastic_hf
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.encoders.storage.fingerprint import identity, plain_backend
from paraphrastic_hf.encoders.storage.locate import (
    DERIVED_MODELS,
    HubOptions,
    check_hub_options,
    packaged_folder,
)
from paraphrastic_hf.encoders.vectors import checked_vectors
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.metrics.names import PENALTIES, SEVERAL, SIMILARITIES, UNITS
from paraphrastic_hf.metrics.semantic import (
    ALPHA,
    Embedded,
    SentenceVectors,
    length_penalty,
    simile,
)
from paraphrastic_hf.metrics.windows import REACH, TextWindows
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.normalize import valid_unicode
from paraphrastic_hf.text.ragged import Ragged

Lengths = Callable[[Sequence[str]], np.ndarray]


def length_counter(model: Any, unit: str = "tokens") -> Lengths:
    """Return a function that measures the lengths of texts with a model's tokenizer, (texts,).

    `tokens` counts tokens without special tokens, as the thesis does. `characters` counts the
    characters of these tokens joined by spaces, as the 2019 release does.
    """
    tokenizer: Any = getattr(model, "tokenizer", None)
    if isinstance(model, SentenceEncoder):
        sizes = None if unit == "tokens" else np.array([len(token) for token in tokenizer.tokens()])
        return partial(_piece_lengths, tokenizer, sizes)
    backend = plain_backend(tokenizer)
    if backend is None:
        raise ModelError(
            f"{type(model).__name__} has no tokenizer to measure lengths. Use penalty='none', or a "
            "model of this package or of sentence-transformers"
        )
    return partial(_backend_lengths, backend, unit)


def _piece_lengths(
    tokenizer: TextTokenizer, sizes: np.ndarray | None, texts: Sequence[str]
) -> np.ndarray:
    ids = tokenizer.encode_batch(texts)
    counts = np.diff(ids.offsets)
    if sizes is None:
        return counts
    ends = np.concatenate([[0], np.cumsum(sizes[ids.ids])])[ids.offsets]
    return np.asarray(np.maximum(np.diff(ends) + counts - 1, 0))


def _backend_lengths(tokenizer: Tokenizer, unit: str, texts: Sequence[str]) -> np.ndarray:
    rows = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    lengths = [len(row.ids) if unit == "tokens" else len(" ".join(row.tokens)) for row in rows]
    return np.array(lengths, np.int64)


SEGMENTS_AT_A_TIME = 16384
NONE = slice(0, 0)  # selects no rows of a table
DEFAULT_MODEL = "simile"
NORM_POWER = DERIVED_MODELS[DEFAULT_MODEL][1]
STRICT = "strict-windows"
TUNED_ON = "newstest2015"  # the default model and strict windows were chosen by its human scores

References = Sequence[str] | Sequence[Sequence[str]]


@dataclass(frozen=True)
class SimileScores:
    """SimiLE and SIM of each segment and of the corpus, -1 to 1."""

    simile: np.ndarray  # of each segment, (segments,)
    sim: np.ndarray  # without length penalty, (segments,)
    signature: str  # settings; only scores with equal signatures are comparable

    @property
    def score(self) -> float:
        """Mean SimiLE of all segments, -1 to 1."""
        return _mean(self.simile)

    @property
    def sim_score(self) -> float:
        """Mean SIM of all segments, -1 to 1."""
        return _mean(self.sim)

    def to_dict(self, *, segments: bool = False) -> dict[str, Any]:
        """Convert the scores to plain numbers, for JSON."""
        values = {"simile": self.score, "sim": self.sim_score, "signature": self.signature}
        if segments:
            values |= {"simile_scores": self.simile.tolist(), "sim_scores": self.sim.tolist()}
        return values


class SimileScorer:
    """Scorer of hypotheses against references by meaning: SimiLE and SIM (thesis, 7.2.1).

    By default the scorer uses the model `simile` with `similarity="windows"`, which agrees better
    with human judgments than the cosine of two sentence embeddings in the thesis. This default and
    `strict-windows` were tuned on newstest2015, so do not report results on that set. Their
    signatures contain `tuned:newstest2015`.

    Args:
        model: Name of a packaged model, directory or Hub name of a model of this package or of
            sentence-transformers, or a loaded encoder. `simile` is `english` with more even row
            norms (`SentenceEncoder.with_norm_power`).
        similarity: `sentences` is the cosine of two embeddings (7.2.1). `windows` matches windows
            of five tokens in the first 1,024 tokens of a text (`metrics/windows.py`).
            `strict-windows` lowers the score more for each error and for another order, and agrees
            best with human judgments. Both need an averaging model of this package or
            `english-window`. None selects `windows` for the default model, else `sentences`.
        alpha: Weight of the length penalty, 0 or more. The thesis uses 0.25, and 0 gives SIM.
        penalty: Hypotheses to penalize for their length: shorter than the reference (`brevity`),
            longer (`excess`), both (`both`, SimiLE), or no hypothesis (`none`).
        length: Unit of length: the model's `tokens`, or the `characters` of these tokens.
        lowercase: Lower-case the texts first. Models with a lower-casing tokenizer, such as the
            default, do so in any case.
        several: Score of a segment with several references: the `best` or the `mean` over the
            references, computed separately for SimiLE and SIM.
        **hub: `revision`, `token`, `cache_dir` and `local_files_only` for a model on the Hub, as in
            `SentenceEncoder.from_pretrained`.

    Raises:
        ModelError: If the model cannot be loaded or has no tokenizer.
        TypeError: If an option is unknown, or a Hub option is given with a loaded encoder.
        ValueError: If an option has a value that is not listed above.

    Example:
        >>> scorer = SimileScorer()
        >>> scores = scorer.score(["The cat is asleep."], ["A cat sleeps."])
        >>> bool(scores.score > 0.5)
        True
    """

    def __init__(
        self,
        model: Any = DEFAULT_MODEL,
        *,
        similarity: str | None = None,
        alpha: float = ALPHA,
        penalty: str = "both",
        length: str = "tokens",
        lowercase: bool = False,
        several: str = "best",
        **hub: Unpack[HubOptions],
    ) -> None:
        check_hub_options(hub, SimileScorer)
        for option, value, known in (
            ("similarity", similarity, (None, *SIMILARITIES)),
            ("penalty", penalty, PENALTIES),
            ("length", length, UNITS),
            ("several", several, SEVERAL),
        ):
            if value not in known:
                choices = ", ".join(filter(None, known))
                raise ValueError(f"{option} must be one of {choices}, got {value!r}")
        if not 0 <= alpha < math.inf:
            raise ValueError(f"alpha must be a finite number, 0 or more, got {alpha}")
        is_name = isinstance(model, (str, Path))
        if hub and not is_name:
            raise TypeError(f"{', '.join(hub)}: pass Hub options only with the name of a model")
        self.model = load_encoder(model, **hub) if is_name else model
        name = Path(model).name if is_name else getattr(model, "name", None)
        self._name = name or type(model).__name__
        self._measure = None if penalty == "none" else length_counter(self.model, length)
        self.alpha, self.penalty, self.length = float(alpha), penalty, length
        self.lowercase, self.several = lowercase, several
        self._is_default = is_default(self.model)
        has_rows = isinstance(self.model, SentenceEncoder) and self.model.table(NONE) is not None
        default = "windows" if self._is_default and has_rows else "sentences"
        self.similarity = similarity or default
        if self.similarity != "sentences":
            self._rows(NONE)
        self.settings = self._describe()

    def score(
        self, hypotheses: Sequence[str], references: References, *, progress: bool = False
    ) -> SimileScores:
        """Score hypotheses against references.

        Args:
            hypotheses: One text for each segment. An empty text scores 0.
            references: One text for each segment, or one list of texts for each segment.
            progress: Show a progress bar.

        Raises:
            DataError: If there are no segments, the numbers of references and hypotheses differ, or
                a text is not a string.
            ModelError: If the model returns NaN or infinity.
        """
        hypotheses, lists = checked_segments(hypotheses, references)
        counts = np.array([len(texts) for texts in lists])
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        segments = np.repeat(np.arange(len(hypotheses)), counts)  # the segment of each reference
        flat = [text for texts in lists for text in texts]
        scores, cosines = np.empty(len(flat)), np.empty(len(flat))
        blocks: Any = range(0, len(flat), SEGMENTS_AT_A_TIME)
        if progress:
            from tqdm.auto import tqdm

            blocks = tqdm(blocks, unit=" blocks")
        for start in blocks:
            part = slice(start, start + SEGMENTS_AT_A_TIME)
            first, last = segments[part][0], segments[part][-1]
            given, its = hypotheses[first : last + 1], segments[part] - first
            theirs = len(given) + np.arange(len(its))
            found = self.compare([*given, *flat[part]], its, theirs)
            scores[part], cosines[part] = found
        if not np.isfinite(cosines).all():
            raise ModelError(f"{self._name} returned NaN or infinity for some texts")
        if self.several == "best":
            scores, cosines = (np.maximum.reduceat(each, starts) for each in (scores, cosines))
        else:
            scores, cosines = (np.add.reduceat(each, starts) / counts for each in (scores, cosines))
        number = str(counts[0]) if (counts == counts[0]).all() else "var"
        return SimileScores(scores, cosines, self.signature(number))

    def signature(self, num_references: str = "1") -> str:
        """Return the settings that affect the scores, in the format of sacrebleu's signatures.

        `num_references` is the number of references per segment, or `var` if it varies.
        """
        references = [("nrefs", num_references)]
        if num_references != "1":
            references += [("several", self.several)]
        return join_settings(*self.settings, *references)

    def compare(
        self, texts: Sequence[str], own: np.ndarray, other: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compare pairs of texts.

        Args:
            texts: All texts. Each is embedded once.
            own: Index of the first text of each pair, (pairs,).
            other: Index of the second text of each pair, (pairs,).

        Returns:
            SimiLE and SIM of each pair, (pairs,) each.
        """
        embedded = self.embed(texts)
        cosines, lengths = embedded.sim(own, other), embedded.lengths
        if lengths is None:
            return cosines, cosines
        return self.penalized(cosines, lengths[own], lengths[other]), cosines

    def penalized(self, sim: np.ndarray, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return SimiLE, (pairs,).

        Args:
            sim: SIM of each pair, (pairs,) or any shape.
            own: Length of the first text of each pair, of the shape given by `sim`, (pairs,).
            other: Length of the second text of each pair, (pairs,).
        """
        return np.asarray(simile(sim, length_penalty(own, other, self.penalty), self.alpha))

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed texts, for callers that compare each text with many other texts."""
        texts = list(texts)
        if self.lowercase:
            texts = [text.lower() for text in texts]
        if self.similarity != "sentences":
            ids = self.model.tokenizer.encode_batch(texts)
            lengths, threads = self._lengths(texts, ids), self.model.num_threads
            is_used = np.zeros(self.model.tokenizer.vocab_size, bool)
            is_used[ids.ids] = True
            place = np.cumsum(is_used, dtype=ids.ids.dtype) - 1
            own = Ragged(place[ids.ids], ids.offsets)
            rows = self._rows(np.flatnonzero(is_used))
            strict = self.similarity == STRICT
            return TextWindows(rows, own, lengths, strict=strict, num_threads=threads)
        if isinstance(self.model, SentenceEncoder) and self.length == "tokens":
            vectors, counts = self.model.encode_and_count(texts)
            return SentenceVectors(vectors, None if self._measure is None else counts)
        vectors = checked_vectors(self.model.encode(texts), len(texts))
        return SentenceVectors(vectors, None if self._measure is None else self._measure(texts))

    def _rows(self, numbers: np.ndarray | slice) -> np.ndarray:
        model = self.model
        rows = model.token_vectors(numbers) if isinstance(model, SentenceEncoder) else None
        if rows is None:
            raise ModelError(
                f"similarity {self.similarity} requires an averaging model of this package in "
                f"float32 on the CPU, or a packed window encoder, got {self._name}. Use similarity "
                "sentences"
            )
        if model.table(NONE) is None:  # a window encoder, which has no `with_norm_power`
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            rows = rows * np.where(lengths > 0, lengths, 1) ** (NORM_POWER - 1)
        return rows

    def _lengths(self, texts: list[str], ids: Ragged) -> np.ndarray | None:
        if self._measure is None or self.length != "tokens":
            return None if self._measure is None else self._measure(texts)
        return np.diff(ids.offsets)

    def _describe(self) -> list[tuple[str, str]]:
        is_lower = self.lowercase or (
            isinstance(self.model, SentenceEncoder) and self.model.tokenizer.lowercase
        )
        by_windows = self.similarity != "sentences"
        settings = [
            ("model", self._name),
            *([("tuned", TUNED_ON)] if self._is_default or self.similarity == STRICT else []),
            *((name, digits) for name, digits in identity(self.model).items() if digits),
            ("case", "lower" if is_lower else "as-is"),
            *([("sim", f"{self.similarity}{2 * REACH + 1}")] if by_windows else []),
            ("penalty", self.penalty),
        ]
        if self.penalty != "none":
            settings += [("alpha", repr(self.alpha)), ("length", self.length)]
        return settings


def is_default(model: Any) -> bool:
    """Return whether a model is the packaged `simile`, or derived from it."""
    source, _ = DERIVED_MODELS[DEFAULT_MODEL]
    return (
        isinstance(model, SentenceEncoder)
        and str(model.name).partition("-")[0] == DEFAULT_MODEL
        and model.origin == packaged_folder(source)
    )


def join_settings(*settings: tuple[str, str]) -> str:
    """Return a signature: names and values of settings, and the version of this package."""
    parts = [*settings, ("version", paraphrastic_hf.__version__)]
    return "|".join(["simile", *(f"{name}:{value}" for name, value in parts)])


def checked_segments(
    hypotheses: Sequence[str], references: References, start: int = 0, name: str = "references"
) -> tuple[list[str], list[list[str]]]:
    """Return the hypotheses, and a list of references for each, as valid Unicode."""
    for side, given in (("hypotheses", hypotheses), (name, references)):
        if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
            raise DataError(f"{side} must be a list of texts, got {type(given).__name__}")
    hypotheses = list(hypotheses)
    several: list[Any] = list(references)
    if len(hypotheses) != len(several):
        hint = ". Put several references of one segment in a list" * (name == "references")
        raise DataError(
            f"The numbers of hypotheses and {name} differ: {len(hypotheses)} and "
            f"{len(several)}{hint}"
        )
    if not hypotheses:
        raise DataError("No hypotheses were given")
    lists: list[list[str]] = []
    are_lists = not isinstance(several[0], str)
    for i, (hypothesis, given) in enumerate(zip(hypotheses, several, strict=True), start):
        if not isinstance(hypothesis, str):
            raise _no_text(f"hypotheses[{i}]", hypothesis)
        if not isinstance(given, (str, list, tuple, np.ndarray)):
            raise _no_text(f"{name}[{i}]", given)
        if isinstance(given, str) == are_lists:
            kinds = ("a list", "a string") if are_lists else ("a string", "a list")
            raise DataError(
                f"{name}[{i}] is {kinds[1]} but {name}[{start}] is {kinds[0]}. Give only "
                "strings or only lists of strings"
            )
        texts: list[Any] = list(given) if are_lists else [given]
        if not texts:
            raise DataError(f"{name}[{i}] is an empty list. Give at least one reference")
        for j, text in enumerate(texts):
            if not isinstance(text, str):
                raise _no_text(f"{name}[{i}][{j}]", text)
        lists.append([valid_unicode(text) for text in texts])
    return [valid_unicode(text) for text in hypotheses], lists


def _no_text(name: str, value: object) -> DataError:
    return DataError(f"{name} must be a string, got {type(value).__name__}: {value!r:.60}")


def _mean(values: np.ndarray) -> float:
    return math.fsum(values.tolist()) / len(values)
