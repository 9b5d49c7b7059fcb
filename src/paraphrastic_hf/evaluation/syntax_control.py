"""Quality of syntactically controlled paraphrases (thesis, 6.4.2, Table 60)."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paraphrastic_hf.encoders.vectors import pairwise_cosine
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.markdown import markdown_table
from paraphrastic_hf.metrics.corpus_bleu import bleu_counts, bleu_of_counts
from paraphrastic_hf.metrics.matching import load_matching
from paraphrastic_hf.syntax.parse_tree import Tree, same_template
from paraphrastic_hf.syntax.tree_distance import tree_edit_distance
from paraphrastic_hf.text.overlap import repeated_word

Trees = Sequence[Tree | None]
WORD = re.compile(r"[a-z0-9]+")
SOURCE_WEIGHT = 0.2  # weight of self-BLEU in iBLEU


def template_match(trees: Trees, wanted: Trees) -> float:
    """Return the percentage of trees whose top two levels match the request exactly.

    A missing tree is a mismatch.
    """
    found = [
        one is not None and other is not None and same_template(one, other)
        for one, other in zip(trees, wanted, strict=True)
    ]
    return 100 * sum(found) / len(found)


def mean_tree_distance(trees: Trees, wanted: Trees) -> float:
    """Return the mean tree edit distance, in nodes. Pairs that lack a tree are ignored.

    The result is NaN if all pairs lack a tree.
    """
    found = [
        tree_edit_distance(one.top, other.top)
        for one, other in zip(trees, wanted, strict=True)
        if one is not None and other is not None
    ]
    return float(np.mean(found)) if found else float("nan")


def rouge(written: str, reference: str, order: int | None) -> float:
    """Return ROUGE-1, ROUGE-2 or ROUGE-L: F1 of lower-cased words, 0 to 1 (Lin, 2004).

    `order` is the number of words per n-gram, or None for the longest common subsequence.
    """
    first, second = WORD.findall(written.lower()), WORD.findall(reference.lower())
    if order is None:
        from rapidfuzz.distance import LCSseq

        shared, left, right = LCSseq.similarity(first, second), len(first), len(second)
    else:
        sides = [
            Counter(zip(*(words[k:] for k in range(order)), strict=False))
            for words in (first, second)
        ]
        shared = (sides[0] & sides[1]).total()
        left, right = sides[0].total(), sides[1].total()
    return 2 * shared / (left + right) if shared else 0.0


def measure_paraphrases(
    written: Sequence[str],
    references: Sequence[str],
    sources: Sequence[str],
    *,
    encoder: Any = None,
) -> dict[str, float]:
    """Compute the usual metrics of controlled paraphrasing, x 100.

    These are `BLEU` of the corpus, `self-BLEU` with the sources, `iBLEU`, `ROUGE`, and `METEOR` if
    nltk's data is installed. `change` is the character edit distance from the source, divided by
    the length of the longer text. `repeats` is the percentage of outputs that repeat a word
    (`repeated_word`). With an encoder also `SIM` with the reference and `SIM source`.
    """
    from rapidfuzz.distance import Levenshtein

    bleu, own = (
        float(bleu_of_counts(bleu_counts(written, [[text] for text in texts]).sum(0)))
        for texts in (references, sources)
    )
    found = {
        "BLEU": bleu,
        "self-BLEU": own,
        "iBLEU": (1 - SOURCE_WEIGHT) * bleu - SOURCE_WEIGHT * own,
    }
    pairs = list(zip(written, references, strict=True))
    for name, order in (("ROUGE-1", 1), ("ROUGE-2", 2), ("ROUGE-L", None)):
        found[name] = 100 * float(np.mean([rouge(*pair, order) for pair in pairs]))
    try:
        meteor = load_matching("METEOR")
    except DataError:  # nltk or its data is missing
        pass
    else:
        found["METEOR"] = float(meteor(written, [[text] for text in references]).mean())
    changes = [
        Levenshtein.normalized_distance(source.lower(), text.lower())
        for source, text in zip(sources, written, strict=True)
    ]
    found["change"] = 100 * float(np.mean(changes))
    repeats = [bool(repeated_word(*pair)) for pair in zip(sources, written, strict=True)]
    found["repeats"] = 100 * float(np.mean(repeats))
    if encoder is not None:
        vectors = encoder.encode(list(written), normalize_embeddings=True)
        for name, texts in (("SIM", references), ("SIM source", sources)):
            others = encoder.encode(list(texts), normalize_embeddings=True)
            found[name] = 100 * float(pairwise_cosine(vectors, others).mean())
    return found


def control_markdown(systems: Mapping[str, Mapping[str, float]]) -> str:
    """Return the figures of systems as a Markdown table. Missing figures are empty cells."""
    measures = list(dict.fromkeys(name for figures in systems.values() for name in figures))
    rows = [
        [name, *(f"{figures[each]:.1f}" if each in figures else "" for each in measures)]
        for name, figures in systems.items()
    ]
    return "\n".join([*markdown_table(["system", *measures], rows), ""])
