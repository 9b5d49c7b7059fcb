"""Nearest neighbors of words, phrases and n-grams (thesis, 3.4, 3.8.2, Tables 8, 22 to 24)."""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from paraphrastic_hf.analyses.report import Analysis, Cell, Table
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.vectors import checked_vectors
from paraphrastic_hf.errors import DataError, ModelError, counted
from paraphrastic_hf.io.plots import COLORS, new_figure, style
from paraphrastic_hf.mining.search import Match, nearest_texts
from paraphrastic_hf.text.normalize import SPACE_MARK, normalize

WORDS_AT_A_TIME = 16_384
DRAWN = 8  # maximum number of queries in the plot
Found = dict[str, dict[str, list[Match]]]


def neighbors(
    encoders: Mapping[str, Any],
    queries: Sequence[str],
    *,
    among: Sequence[str] | None = None,
    most: int | None = None,
    count: int = 7,
) -> Analysis:
    """Find the nearest neighbors of queries by cosine, for each of several models.

    With `among`, queries and neighbors are texts that the model encodes (Tables 22 and 23). Without
    it, they are entries of the model's embedding table: words, pieces, or character n-grams (Tables
    8 and 24). In pieces and n-grams `_` is a space or the start of a word. Only the first `most`
    texts or entries are searched. Tables of words and n-grams are sorted by frequency (Table 8 uses
    the 10,000 most frequent words).
    """
    if count < 1:
        raise DataError(f"count must be at least 1, got {count}")
    found: Found = {}
    hints: list[str] = []
    for name, encoder in encoders.items():
        if among is None:
            found[name], hint = _of_rows(encoder, name, queries, most, count)
        else:
            found[name], hint = _of_texts(encoder, queries, among[:most], count)
        hints.append(hint)
    for query in queries:
        if not any(query in matches for matches in found.values()):
            raise DataError(f"{' and '.join(encoders)} cannot encode {query!r}. {hints[0]}")
    where = "rows of the models' tables" if among is None else counted(len(among[:most]), "text")
    notes = [f"Cosine, without the query itself. Searched: {where}."]
    if among is None:
        notes.append("`_` is a space, or the start of a word.")
        notes += [f"Only the first {most:,} rows."] if most else []
    return Analysis(
        "neighbors",
        "Nearest neighbors",
        [_side_by_side(found, queries), _cosines(found)],
        _figure(found, queries),
        notes,
        {"models": list(encoders), "queries": list(queries), "count": count, "most": most},
    )


def table_rows(encoder: Any, name: str) -> tuple[list[str], np.ndarray]:
    """Return the entries of a model's embedding table and their vectors, (entries, dim).

    Padding and the unknown token are left out. Spaces and space marks of sentencepiece become `_`.
    """
    if not isinstance(encoder, SentenceEncoder):
        raise ModelError(
            f"{name} ({type(encoder).__name__}) has no table. "
            "Pass the texts to search as --among FILE"
        )
    table = encoder.table()
    if table is None:
        tables = encoder.model_apart().tables()
        if len(tables) > 1:
            raise ModelError(
                f"{name} has {len(tables)} token tables. Pass the texts to search as --among FILE"
            )
        table = tables[0].weight.detach().float().cpu().numpy()
    tokens = [
        token.replace(SPACE_MARK, "_").replace(" ", "_") for token in encoder.tokenizer.tokens()
    ]
    return tokens[2:], table[2:]


def _of_rows(
    encoder: Any, name: str, queries: Sequence[str], most: int | None, count: int
) -> tuple[dict[str, list[Match]], str]:
    """Search the model's table. Also return a hint for unknown queries."""
    tokens, table = table_rows(encoder, name)
    place = {token: i for i, token in enumerate(tokens)}
    rows = {query: place.get(normalize(query, encoder.tokenizer.lowercase)) for query in queries}
    known = {
        query: (tokens[row], table[row])
        for query, row in rows.items()
        if row is not None and table[row].any()
    }
    unknown = next((query for query in queries if query not in known), "")
    close = difflib.get_close_matches(unknown, tokens, n=3, cutoff=0.6)
    near = f", such as {', '.join(map(repr, close))}" if close else ""
    hint = (
        f"Use an entry of the model's vocabulary{near}, or give texts to search with --among FILE"
    )
    return _matches(known, tokens[:most], [(tokens[:most], table[:most])], count), hint


def _of_texts(
    encoder: Any, queries: Sequence[str], among: Sequence[str], count: int
) -> tuple[dict[str, list[Match]], str]:
    """Search texts. Also return a hint for unknown queries."""

    def encode(texts: Sequence[str]) -> np.ndarray:
        vectors = checked_vectors(encoder.encode(list(texts)), len(texts))
        return vectors.astype(np.float32, copy=False)

    pairs = zip(queries, encode(queries), strict=True)
    known = {query: (query, vector) for query, vector in pairs if vector.any()}
    starts = range(0, len(among), WORDS_AT_A_TIME)
    parts = (among[start : start + WORDS_AT_A_TIME] for start in starts)
    hint = "Use another word, or a model with subword or n-gram tokens"
    return _matches(known, among, ((part, encode(part)) for part in parts), count), hint


def _matches(
    known: Mapping[str, tuple[str, np.ndarray]],
    among: Iterable[str],
    blocks: Iterable[tuple[Sequence[str], np.ndarray]],
    count: int,
) -> dict[str, list[Match]]:
    """Return the matches of each query, without the query's own text in any capitalization."""
    if not known:
        return {}
    own = {query: text.lower() for query, (text, _) in known.items()}
    times = Counter(text.lower() for text in among)
    spare = max(times[text] for text in own.values())
    vectors = np.stack([vector for _, vector in known.values()])
    found = nearest_texts(vectors, blocks, count + spare)
    return {
        query: [match for match in matches if match.text.lower() != own[query]][:count]
        for query, matches in zip(known, found, strict=True)
    }


def _side_by_side(found: Found, queries: Sequence[str]) -> Table:
    rows: list[list[Cell]] = []
    for query in queries:
        cells = [
            ", ".join(match.text for match in matches[query]) if query in matches else "(unknown)"
            for matches in found.values()
        ]
        rows.append([query, *cells])
    return Table("words", "Neighbors, nearest first", ["query", *found], rows)


def _cosines(found: Found) -> Table:
    rows: list[list[Cell]] = [
        [name, query, rank, match.text, round(match.cosine, 4)]
        for name, matches in found.items()
        for query in matches
        for rank, match in enumerate(matches[query], 1)
    ]
    return Table(
        "cosines", "Cosines", ["model", "query", "rank", "neighbor", "cosine"], rows, False
    )


def _figure(found: Found, queries: Sequence[str]) -> Figure:
    """Draw bars: a row for each query, a column for each model."""
    drawn = list(queries)[:DRAWN]
    longest = max([len(m[query]) for m in found.values() for query in drawn if query in m] or [1])
    figure = new_figure(4.5 * len(found), (0.24 * longest + 0.45) * len(drawn) + 0.5)
    axes = figure.subplots(len(drawn), len(found), squeeze=False, sharex=True)
    for column, (name, matches) in enumerate(found.items()):
        for row, query in enumerate(drawn):
            panel, near = axes[row][column], matches.get(query, [])
            panel.barh(
                range(len(near)), [m.cosine for m in near], color=COLORS[column % len(COLORS)]
            )
            panel.set_yticks(range(len(near)), [m.text for m in near])
            panel.set_ylim(longest - 0.5, -0.5)
            head = f"{name}: " if len(found) > 1 else ""
            if query not in matches:
                panel.text(0.02, 0.5, "unknown", transform=panel.transAxes, fontsize=8)
            label = "cosine" if query == drawn[-1] else ""
            style(panel, head + query, label, grid="x")
            panel.tick_params(axis="y", length=0)
    return figure
