"""Gate norms of a GRAN by tag and by relation (Wieting and Gimpel, 2017, Tables 9 to 11)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from paraphrastic_hf.analyses.report import Analysis, Cell, Table
from paraphrastic_hf.analyses.tagged import TreebankSentence, mean_by
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.io.plots import bars, new_figure

MOST_WORDS = 15  # maximum length of a sentence, from the paper's footnote 8
LEAST = 20  # minimum number of words with a tag or relation
SENTENCES_AT_A_TIME = 512
SHOWN = 12  # number of highest means in the plot, and of lowest means

Mean = tuple[str, int, float]

PAPER_TAGS = (  # Table 9, highest and lowest norms
    ("NNP", "NNPS", "CD", "NNS", "VBG", "NN", "JJ", "UH", "VBN", "JJS"),
    ("TO", "WDT", "POS", "DT", "WP", "IN", "CC", "PRP", "EX", "WRB"),
)
PAPER_RELATIONS = (  # Table 9, renamed to Universal Dependencies, such as number to nummod
    ("nummod", "compound", "nummod", "xcomp", "appos", "obl", "acl", "obj", "amod", "conj"),
    ("case", "cop", "det", "aux:pass", "case", "cc", "mark", "aux", "expl", "advmod"),
)
PAPER_WEIGHTS = {  # Tables 10 and 11; acomp, vmod, auxpass, prep as xcomp, acl, aux:pass, case
    "JJ": {"xcomp": 170.6, "root": 157.4, "amod": 143.1, "advmod": 121.6},
    "VBG": {
        "amod": 178.3, "xcomp": 176.8, "acl": 170.6, "root": 161.8, "aux:pass": 125.4,
        "case": 121.2,
    },
}  # fmt: skip


def gates(
    encoder: Any, sentences: Sequence[TreebankSentence], *, name: str = "model", least: int = LEAST
) -> Analysis:
    """Average the L1 norms of a GRAN's gate by part of speech and by dependency relation.

    Adjectives (JJ) and gerunds (VBG) are also averaged by relation. As in the paper, sentences of
    more than 15 words are left out. Tags and relations with fewer than `least` words are too.
    """
    short = [s for s in sentences if s.relations and len(s.words) <= MOST_WORDS]
    if not short:
        raise DataError(
            f"No sentence of up to {MOST_WORDS} words has dependency relations. Pass a corpus "
            "with dependency relations, such as ewt"
        )
    norms = gate_norms(encoder, [sentence.words for sentence in short], name)
    values = np.concatenate(norms)
    tags = [tag for sentence in short for tag in sentence.tags]
    relations = [relation for sentence in short for relation in sentence.relations]
    by_tag = mean_by(tags, values, least=least)
    by_relation = mean_by(relations, values, least=least)
    tables = [
        Table("tags", "By part of speech (Penn tags)", _HEAD, _ranked(by_tag, PAPER_TAGS)),
        Table("relations", "By dependency relation", _HEAD, _ranked(by_relation, PAPER_RELATIONS)),
    ]
    for tag, weights in PAPER_WEIGHTS.items():
        chosen = np.array([each == tag for each in tags])
        own = [relation for relation, kept in zip(relations, chosen, strict=True) if kept]
        means = mean_by(own, values[chosen], least=least)
        rows: list[list[Cell]] = [[*mean, weights.get(mean[0])] for mean in means]
        columns = ["relation", "words", "mean L1 norm", "2017 paper"]
        tables.append(Table(tag, f"Words tagged {tag} by dependency relation", columns, rows))
    size = encoder.model.config.hidden_size
    known = int((~np.isnan(values)).sum())
    return Analysis(
        "gates",
        f"Gates of {name} by part of speech and dependency relation",
        tables,
        _figure(by_tag, by_relation),
        [
            f"L1 norm of the gate of a word, at most {size}. {known:,} of {len(values):,} words in "
            f"{len(short):,} sentences of up to {MOST_WORDS} words are in the vocabulary.",
            f"Tags and relations with at least {least} words. Top and bottom: rank in the paper's "
            "Table 9. Its Stanford dependencies are renamed: number, num to nummod; nn "
            "to compound; acomp to xcomp; pobj to obl; vmod to acl; dobj to obj; possessive, prep "
            "to case; auxpass to aux:pass; neg to advmod.",
            "The paper uses 10,000 automatically parsed Wikipedia sentences. Here tags and "
            "relations are a treebank's own.",
        ],
        {"model": name, "sentences": len(short), "least": least},
    )


_HEAD = ["name", "words", "mean L1 norm", "2017 paper"]


def gate_norms(
    encoder: Any, sentences: Sequence[Sequence[str]], name: str = "model"
) -> list[np.ndarray]:
    """Compute the L1 norm of the gate of each word. NaN for a word without a known token.

    In GRAN-2 this is the gate on the LSTM's state, in other variants the gate on the word vector.
    Norms are averaged over the tokens of a word and over both directions of a BiGRAN.
    """
    model: Any = getattr(encoder, "model", None)
    if type(model).__name__ != "GatedModel" or model.config.variant == 0:
        raise ModelError(
            f"{name} ({type(model or encoder).__name__}) is not a gated network (GRAN). Train one "
            "with recipes/revisiting-recurrent-2017/gran.yaml"
        )
    if not encoder.tokenizer.keeps_to_words:
        raise ModelError(
            f"Some tokens of {name} are not parts of a word: they are marks, or n-grams that "
            "cross words. Train the model with tokenizer.kind word and tokenizer.marks none"
        )
    found: list[np.ndarray] = []
    for start in range(0, len(sentences), SENTENCES_AT_A_TIME):
        block = sentences[start : start + SENTENCES_AT_A_TIME]
        ids = encoder.tokenizer.encode_batch([word for words in block for word in words])
        word = np.repeat(np.arange(len(ids)), np.diff(ids.offsets))  # the word of each token
        starts = np.cumsum([0, *map(len, block)])
        total = np.zeros(len(ids))
        if len(ids.ids):
            lengths = np.diff(ids.offsets[starts])
            np.add.at(total, word, _token_norms(model, ids.ids, lengths))
        counts = np.diff(ids.offsets)
        means = np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
        found += np.split(means, starts[1:-1])
    return found


def _token_norms(model: Any, ids: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the L1 norm of the gate of each token, (tokens,), of concatenated texts."""
    import torch

    from paraphrastic_hf.layers.packing import Packing

    size = model.config.hidden_size
    device = model.device
    with torch.inference_mode():
        rows = model.eval().token_rows(torch.from_numpy(ids.astype(np.int64)).to(device))
        norms = torch.zeros(len(ids), dtype=torch.float64, device=device)
        for cell, backward in zip(model.cells, (False, True), strict=False):
            packing = Packing.of(torch.from_numpy(lengths).to(device), backward=backward)
            opened = cell.states_and_gates(packing.pack(rows), packing.sizes)[1][:, :size]
            norms += packing.unpack(opened.double().sum(1)) / len(model.cells)
    return np.asarray(norms.cpu())


def _ranked(means: Sequence[Mean], paper: tuple[Sequence[str], Sequence[str]]) -> list[list[Cell]]:
    """Append to each mean the rank of its name in the paper's lists."""
    places: dict[str, str] = {}
    for end, names in zip(("top", "bottom"), paper, strict=True):
        for place, label in enumerate(names, 1):
            places.setdefault(label, f"{end} {place}")
    return [[*mean, places.get(mean[0], "")] for mean in means]


def _figure(by_tag: Sequence[Mean], by_relation: Sequence[Mean]) -> Figure:
    figure = new_figure(9, 5.5)
    panels = figure.subplots(1, 2)
    for panel, means, title in zip(
        panels, (by_tag, by_relation), ("part of speech", "dependency relation"), strict=True
    ):
        shown = means if len(means) <= 2 * SHOWN else [*means[:SHOWN], *means[-SHOWN:]]
        cut = "" if len(shown) == len(means) else f", highest and lowest {SHOWN}"
        norms = [mean[2] for mean in shown]
        bars(panel, [mean[0] for mean in shown], norms, "mean L1 norm", title + cut)
    return figure
