"""Convert parsed sentence pairs to the token ids that paraphrase generators learn (thesis, 6.2.2).

A pair consists of two sentences and their trees. Sentence s belongs to pair s // 2, and its partner
is sentence s XOR 1. The source text, target text and template of a sentence have its index.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from paraphrastic_hf.errors import DataError, RecipeError, counted
from paraphrastic_hf.io.lines import Remarks
from paraphrastic_hf.io.pairs import has_named_columns
from paraphrastic_hf.syntax.parse_tokens import (
    SEPARATOR,
    checked_tree,
    parse_text,
    parse_tokenizer,
    with_template,
)
from paraphrastic_hf.syntax.parse_tree import template
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.data.corpus import read_columns, write_columns
from paraphrastic_hf.training.data.sources import SourcePairs
from paraphrastic_hf.training.engine.recipe import NONE
from paraphrastic_hf.training.paraphrase.recipe import (
    PARSE,
    SSRU,
    STOCK,
    TEMPLATE,
    ParaphraseRecipe,
)

logger = logging.getLogger(__name__)

TREES = ("tree1", "tree2")
PLAIN = 0.3  # share of examples without a template, by default
MOST_TEMPLATES = 10_000  # number of templates listed in a model directory


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence of a pair."""

    text: str
    parse: str  # without words, as tokens separated by spaces. Empty if not needed
    template: str  # the top two levels of the parse


@dataclass(frozen=True)
class ParsedCorpus:
    """Token ids that a model learns from."""

    sentences: Ragged  # all sources, then all targets. Stored once if both are the same texts
    templates: Ragged | None  # of each target, None if the model reads no separate templates
    group: np.ndarray  # group of each sentence, (2N,), the same for equal sentences
    counts: list[tuple[str, int]]  # templates of the targets, most frequent first
    given: int  # number of pairs from a development file, at the end

    def __len__(self) -> int:
        return len(self.group) // 2

    def sides(self, pairs: np.ndarray, *, both: bool) -> np.ndarray:
        """Return the indices of sources and targets in `sentences`, (examples, 2).

        `pairs` are indices of pairs. With `both`, return each pair in both directions.
        """
        first = 2 * pairs
        sources = np.stack([first, first + 1], 1).reshape(-1) if both else first
        offset = len(self.sentences) - len(self.group)
        return np.stack([sources, offset + (sources ^ 1)], 1)


def reads_trees(recipe: ParaphraseRecipe) -> bool:
    """Return whether a recipe needs the trees of its pairs."""
    model = recipe.model
    return recipe.data.differing or model.template != NONE or model.writes == PARSE


def tree_columns(recipe: ParaphraseRecipe) -> tuple[str, ...]:
    """Return the columns with trees that a recipe reads: only `tree2` if no more is needed."""
    if not reads_trees(recipe):
        return ()
    data, model = recipe.data, recipe.model
    needs_both = data.both_directions or data.differing or model.writes == PARSE
    return TREES if needs_both else TREES[1:]


def with_tree_columns(recipe: ParaphraseRecipe, find: Any) -> ParaphraseRecipe:
    """Return a recipe whose sources have tree columns, if trees are needed."""
    names = tree_columns(recipe)
    if not names:
        return recipe
    sources = []
    for source in recipe.data.sources:
        if source.beside and set(source.beside) != set(names):
            raise RecipeError(
                f"data.sources: the key beside of {source.name} must name {' and '.join(names)}, "
                f"got {', '.join(source.beside)}"
            )
        has_names = source.path is None or has_named_columns(find(source.path))
        columns = {name: name if has_names else 3 + k for k, name in enumerate(names)}
        sources.append(replace(source, beside=source.beside or columns))
    return replace(recipe, data=replace(recipe.data, sources=sources))


def parsed_pairs(
    sources: Sequence[SourcePairs], recipe: ParaphraseRecipe
) -> list[tuple[ParsedSentence, ParsedSentence]]:
    """Return the pairs of sources. If trees are needed, log and leave out unsuitable pairs.

    Pairs with incomplete trees, equal parses or long parses are left out.
    """
    if not reads_trees(recipe):
        pairs = [pair for item in sources for pair in item.pairs]
        return [(ParsedSentence(a, "", ""), ParsedSentence(b, "", "")) for a, b in pairs]
    found, remarks = [], Remarks("sources")
    alike = long = 0
    for item in sources:
        read = [item.beside.get(name, [None] * len(item.pairs)) for name in TREES]
        trees = zip(*read, strict=True)
        for number, (texts, both) in enumerate(zip(item.pairs, trees, strict=True), 1):
            try:
                pair = tuple(map(_parsed, texts, both))
            except DataError as error:
                if recipe.data.bad_rows == "refuse":
                    raise DataError(f"{item.source.name}, pair {number}: {error}") from error
                remarks.add("with an incomplete tree", f"{item.source.name}:{number}")
                continue
            if recipe.data.differing and pair[0].parse == pair[1].parse:
                alike += 1
            elif max(len(side.parse.split()) for side in pair) > recipe.data.max_template:
                long += 1
            else:
                found.append((pair[0], pair[1]))
    if remarks.bad:
        logger.warning("Skipped %s", remarks.describe())
    if alike or long:
        logger.info(
            "Left out %s with equal parses and %s with a parse longer than data.max_template",
            counted(alike, "pair"),
            f"{long:,}",
        )
    if not found:
        raise DataError(
            f"No pairs to train on. {alike:,} have equal parses (data.differing), {long:,} have "
            f"more parse tokens than data.max_template ({recipe.data.max_template}), and "
            f"{remarks.bad.total():,} have incomplete trees"
        )
    return found


def _parsed(text: str, tree: str | None) -> ParsedSentence:
    if tree is None:
        return ParsedSentence(text, "", "")
    read = checked_tree(tree)
    return ParsedSentence(text, parse_text(read), parse_text(template(read)))


def texts_to_learn(
    pairs: Sequence[tuple[ParsedSentence, ParsedSentence]], recipe: ParaphraseRecipe
) -> Iterator[str]:
    for first, second in pairs:
        yield from (first.text, second.text)
        if _is_joined(recipe):
            yield f"{SEPARATOR} {_beside(first, recipe)}"
            yield f"{SEPARATOR} {_beside(second, recipe)}"


def build_parsed_corpus(
    pairs: Sequence[tuple[ParsedSentence, ParsedSentence]],
    tokenizer: TextTokenizer,
    recipe: ParaphraseRecipe,
    directory: Path,
    given: int = 0,
) -> None:
    """Tokenize the texts that a model reads and writes, and save them to a folder.

    `tokenizer` is for the targets: sentences or parses. `given` is the number of pairs from a
    development file, at the end.
    """
    sides = [side for pair in pairs for side in pair]
    is_parse = recipe.model.writes == PARSE
    written = tokenizer.encode_batch([side.parse if is_parse else side.text for side in sides])
    columns: dict[str, Any] = {"written": written}
    if _is_joined(recipe):
        joined = [
            with_template(side.parse if is_parse else side.text, _beside(partner, recipe))
            for pair in pairs
            for side, partner in (pair, pair[::-1])
        ]
        columns["read"] = tokenizer.encode_batch(joined)
    elif recipe.model.template != NONE:
        plain = PLAIN if recipe.data.plain is None else recipe.data.plain
        is_plain = np.zeros(len(sides), bool)
        if recipe.model.kind == SSRU:
            is_plain = np.random.default_rng(recipe.seed).random(len(sides)) < plain
        columns["templates"] = parse_tokenizer().encode_batch(
            [
                "" if own else _beside(side, recipe)
                for side, own in zip(sides, is_plain, strict=True)
            ]
        )
    _, columns["group"] = np.unique([side.text for side in sides], return_inverse=True)
    targets = sides if recipe.data.both_directions else sides[1::2]
    counts = Counter(side.template for side in targets if side.template)
    common = counts.most_common(MOST_TEMPLATES)
    write_columns(directory, columns, {"counts": common, "given": given})


def load_parsed_corpus(directory: Path) -> ParsedCorpus:
    columns, meta = read_columns(directory)
    written = columns["written"]
    read = columns.get("read")
    sentences = written if read is None else Ragged.concatenate([read, written])
    counts = [(str(text), int(count)) for text, count in meta["counts"]]
    return ParsedCorpus(
        sentences, columns.get("templates"), np.asarray(columns["group"]), counts, meta["given"]
    )


def _is_joined(recipe: ParaphraseRecipe) -> bool:
    """Return whether the model reads source and template as one text."""
    return recipe.model.kind in STOCK and recipe.model.template != NONE


def _beside(side: ParsedSentence, recipe: ParaphraseRecipe) -> str:
    return side.template if recipe.model.template == TEMPLATE else side.parse
