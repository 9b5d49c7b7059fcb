"""Measures syntactic control on held-out parsed pairs (thesis Table 60).

    python recipes/scpn-2018/control.py runs/scpn parsed-pairs.held-out.tsv \\
        --generator runs/parse-generator --parser runs/parser --output control.md

Rows: the second sentence's own parse or template, the parse that the generator makes of its
template, the generator alone, the unchanged source and second sentence, the output without template
and the best paraphrase (for models that do not need a template), and outputs of other systems
(--system). The parser's tree of the second sentence is the reference. Lines without output count
only in the column `written`.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from paraphrastic_hf import (
    GenerationOptions,
    LanguageScorer,
    SentenceEncoder,
    SentenceParser,
    SyntacticParaphraser,
)
from paraphrastic_hf.errors import DataError, ParaphrasticError
from paraphrastic_hf.evaluation.syntax_control import (
    control_markdown,
    mean_tree_distance,
    measure_paraphrases,
    template_match,
)
from paraphrastic_hf.generation.likelihood import perplexity_of
from paraphrastic_hf.syntax.parse_tokens import checked_tree
from paraphrastic_hf.syntax.parse_tree import template

LOOSE = {"min_overlap": None, "min_similarity": None}


def tree_or_none(text: str):
    try:
        return checked_tree(text)
    except DataError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="run of a paraphraser")
    parser.add_argument("pairs", type=Path, help="TSV: sentence1, sentence2, tree1, tree2")
    parser.add_argument("--generator", help="run of a parse generator")
    parser.add_argument("--parser", required=True, help="run of a parser")
    parser.add_argument(
        "--system",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="outputs of another system, one line per pair",
    )
    parser.add_argument("--language-model", help="run of a language model, for perplexity")
    parser.add_argument("--most", type=int, help="measure only the first MOST pairs")
    parser.add_argument("--output", type=Path, help="Markdown file, beside which outputs are saved")
    given = parser.parse_args()
    lines = given.pairs.read_text(encoding="utf-8").splitlines()[: given.most]
    rows = [line.split("\t") for line in lines]
    sources, references = [row[0] for row in rows], [row[1] for row in rows]
    own, wanted = ([checked_tree(row[column]) for row in rows] for column in (2, 3))
    encoder = SentenceEncoder.from_pretrained()
    sentence_parser = SentenceParser.from_pretrained(given.parser)
    paraphraser = SyntacticParaphraser.from_pretrained(
        given.model, generator=given.generator, encoder=encoder
    )
    how = GenerationOptions(beams=3, max_tokens=40)  # thesis
    scorer = given.language_model and LanguageScorer.from_pretrained(given.language_model)
    outputs: dict[str, list[str]] = {"source": sources, "reference": references}
    systems: dict[str, dict[str, float]] = {}

    def write(trees, name):
        asked = [[str(tree)] for tree in trees]
        found = paraphraser.paraphrase(sources, asked, parses=own, writing=how, **LOOSE)
        outputs[name] = [one.text for (one,) in found]
        return [one for (one,) in found]

    if paraphraser.writer.reads == "none":
        outputs["no template"] = paraphraser.canonicalise(sources, writing=how)
    elif paraphraser.writer.reads == "template":
        write([template(tree) for tree in wanted], "template")
        if not paraphraser.writer.needs_template:
            outputs["no template"] = paraphraser.canonicalise(sources, writing=how)
            found = paraphraser.best(sources, 1, writing=how)
            outputs["best"] = [each[0].text if each else "" for each in found]
    else:
        write(wanted, "gold parse")
        if given.generator:
            found = write([template(tree) for tree in wanted], "generated parse")
            filled = [tree_or_none(one.parse) if one.parse else None for one in found]
            systems["generator alone"] = {
                "match": template_match(filled, wanted),
                "match source": template_match(filled, own),
                "TED": mean_tree_distance(filled, wanted),
            }
    for each in given.system:
        name, _, path = each.partition("=")
        outputs[name] = Path(path).read_text(encoding="utf-8").splitlines()[: len(rows)]
    for name, written in outputs.items():
        known = [number for number, text in enumerate(written) if text.strip()]
        texts, asked, given_trees, right, read = (
            [each[number] for number in known]
            for each in (written, wanted, own, references, sources)
        )
        trees = [
            None if each.problem else tree_or_none(str(each.tree))
            for each in sentence_parser.parse(texts)
        ]
        if not known:
            systems[name] = {"written": 0.0}
            continue
        systems[name] = {
            "written": 100 * len(known) / len(written),
            "match": template_match(trees, asked),
            "match source": template_match(trees, given_trees),
            "TED": mean_tree_distance(trees, asked),
            **measure_paraphrases(texts, right, read, encoder=encoder),
        }
        if scorer is not None:
            found = scorer.score(texts)
            nats = -np.nansum(found.nats) / found.tokens.sum()
            systems[name]["perplexity"] = float(perplexity_of(nats))
    table = control_markdown(systems)
    print(f"{len(rows)} pairs\n\n{table}")
    if given.output:
        given.output.write_text(table, encoding="utf-8")
        for name, texts in outputs.items():
            path = given.output.with_suffix(f".{name.replace(' ', '-')}.txt")
            path.write_text("\n".join(texts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ParaphrasticError) as error:
        sys.exit(str(error))
