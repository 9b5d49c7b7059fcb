"""`paraphrastic paraphrase [MODEL] FILE`."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from paraphrastic_hf.cli.shared.lines import check_inputs, check_output, open_output, tell_if_empty
from paraphrastic_hf.cli.shared.options import TEXTS
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.cli.shared.writing import add_writing_options, writing_of
from paraphrastic_hf.encoders.storage.locate import DEFAULT_PARAPHRASER, check_model_kind
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.generation.templates import Paraphrase
from paraphrastic_hf.io.files import one_line, tsv_line
from paraphrastic_hf.io.lines import read_blocks
from paraphrastic_hf.syntax.parse_tokens import checked_tree
from paraphrastic_hf.syntax.parse_tree import Tree

if TYPE_CHECKING:
    from paraphrastic_hf.generation.paraphrase import SyntacticParaphraser

LINES_AT_A_TIME = 64
FREQUENT, BEST = 20, 3
MIN_OVERLAP, MIN_SIMILARITY = 0.5, 0.7
COLUMNS = "line\tkept\ttemplate\tnats\toverlap\tsimilarity\tparaphrase\tremark"
EPILOG = """\
Without templates, each line is paraphrased with 20 frequent templates and, if the model can, with
none. The best paraphrases are written. With templates, a row is written for each line and template.
Columns, tab-separated: line number, whether the filter kept it, template, mean log-probability of
the tokens (nats), overlap, similarity, paraphrase, and the reason if it was rejected. With
--canonical, only one paraphrase of each line is written.

examples:
  paraphrastic paraphrase lines.txt
  paraphrastic paraphrase lines.txt --template "(ROOT (S (PP) (,) (NP) (VP) (.)))"
  paraphrastic paraphrase runs/scpn lines.txt --generator runs/parse-generator \\
      --parser runs/parser --template "(ROOT (S (NP) (VP) (.)))" --output paraphrases.tsv
  paraphrastic paraphrase runs/paraphraser lines.txt --canonical"""


def configure(parser: Parser) -> None:
    parser.option(
        "model",
        "paraphraser: model directory of a recipe of kind paraphrase, or Hub repository (default: "
        "the packaged one, for English)",
        nargs="?",
    )
    parser.option("file", TEXTS, nargs="?")
    parser.option(
        "--template TREE",
        'template in brackets, such as "(ROOT (S (NP) (VP) (.)))", or a whole parse. May be '
        "repeated",
        default=[],
        action="append",
    )
    parser.option("--templates topN", "the N most frequent templates of training, such as top20")
    parser.option("--template-file FILE", "file of templates, one per line")
    parser.option(
        "--draw", "templates to draw at random for all lines (thesis: 10 of 20)", type=int
    )
    parser.option(
        "--best N",
        "write the N best paraphrases of each line that the filter kept, ranked by cosine and "
        f"log-probability (default: {BEST} without templates, else all in the order of templates)",
        least=1,
    )
    parser.flag("--canonical", "rewrite each line without a template (thesis, 4.6)")
    parser.option("--generator MODEL", "parse generator, which expands templates to full parses")
    parser.option("--parser MODEL", "parser of the lines: model directory or Hub repository")
    parser.option("--trees FILE", "file of trees, one per line, instead of --parser")
    parser.option(
        "--min-overlap",
        f"lowest share of common words, 0 to 1 (default: {MIN_OVERLAP}, as in the thesis)",
        default=MIN_OVERLAP,
    )
    parser.option(
        "--min-similarity",
        f"lowest cosine with the line, -1 to 1 (default: {MIN_SIMILARITY}, the thesis's value "
        "for its encoder of words and trigrams)",
        type=float,
    )
    parser.option("--encoder MODEL", "encoder for the cosine, or none", default="english")
    parser.flag("--kept", "write only the rows that the filter kept")
    # beams and max_tokens as in the thesis
    add_writing_options(parser, beams=3, max_tokens=40, outputs="paraphrases per template")


def run(arguments: argparse.Namespace) -> None:
    if arguments.file is None:  # the only argument is the file
        arguments.model, arguments.file = None, arguments.model
    if arguments.file is None:
        raise DataError("Pass a file with one sentence per line, or -")
    arguments.model = arguments.model or DEFAULT_PARAPHRASER
    check_model_kind(arguments.model, "SyntacticParaphraser")
    if arguments.trees and arguments.parser:
        raise DataError("--trees and --parser cannot be used together. Leave one out")
    check_inputs(arguments.file, *filter(None, (arguments.trees, arguments.template_file)))
    is_steered = bool(arguments.template or arguments.templates or arguments.template_file)
    if is_steered and arguments.canonical:
        raise DataError("Templates and --canonical cannot be used together. Leave one out")
    if not is_steered and not arguments.canonical:
        arguments.templates = f"top{FREQUENT}"
        arguments.best = BEST if arguments.best is None else arguments.best
    if arguments.canonical:
        _refuse_beside_canonical(arguments)
    for name, lowest in (("overlap", 0), ("similarity", -1)):
        bound = getattr(arguments, f"min_{name}")
        if bound is not None and not lowest <= bound <= 1:
            raise DataError(f"--min-{name} must be from {lowest} to 1, got {bound}")
    check_output(arguments.output)
    how = writing_of(arguments)
    paraphraser = load_paraphraser(arguments)
    templates = templates_of(arguments, paraphraser.templates)
    paraphraser.check_templates(templates)
    from tqdm.auto import tqdm

    filters = {
        "min_overlap": arguments.min_overlap,
        "min_similarity": arguments.min_similarity,
    }
    if filters["min_similarity"] is None and paraphraser.encoder is not None:
        filters["min_similarity"] = MIN_SIMILARITY

    def rows(block: list[str], before: int, parses: list[Tree | None] | None) -> Iterator[str]:
        writing = how.after(before)
        if arguments.canonical:
            for text in paraphraser.canonicalise(block, writing=writing):
                yield one_line(text) + "\n"
            return
        options: dict[str, Any] = {"parses": parses, "writing": writing, **filters}
        if arguments.best is None:
            found = paraphraser.paraphrase(block, templates, **options)
        else:
            asked = templates if is_steered or arguments.draw else None
            found = paraphraser.best(block, arguments.best, asked, **options)
        for number, each in enumerate(found, before + 1):
            yield from (row(number, one) for one in each if one.is_kept or not arguments.kept)

    trees = _trees(arguments.trees) if arguments.trees else None
    number = 0
    with (
        open_output(arguments.output) as output,
        tqdm(unit=" lines", disable=arguments.quiet or None) as bar,
    ):
        if not arguments.canonical:
            output.write(COLUMNS + "\n")
        for block in read_blocks(
            arguments.file, LINES_AT_A_TIME, bad_lines=arguments.bad_lines, as_they_come=True
        ):
            parses = None if trees is None else list(islice(trees, len(block)))
            if parses is not None and len(parses) < len(block):
                raise DataError(f"{arguments.trees} has fewer lines than {arguments.file}")
            output.writelines(rows(block, number, parses))
            output.flush()
            number += len(block)
            bar.update(len(block))
        if trees is not None and any(True for _ in trees):
            raise DataError(f"{arguments.trees} has more lines than {arguments.file}")
    tell_if_empty(arguments.file, number, "paraphrase")


def _refuse_beside_canonical(arguments: argparse.Namespace) -> None:
    defaults = {"outputs": 1, "kept": False, "min_overlap": MIN_OVERLAP}
    named = ("outputs", "kept", "best", "draw", "generator", "parser", "trees", "min_overlap")
    given = [
        f"--{name}".replace("_", "-")
        for name in (*named, "min_similarity")
        if getattr(arguments, name) != defaults.get(name)
    ]
    if given:
        raise DataError(
            f"--canonical has one output per line and no filter. Omit {' and '.join(given)}"
        )


def load_paraphraser(arguments: argparse.Namespace) -> SyntacticParaphraser:
    from paraphrastic_hf.encoders.encoder import SentenceEncoder
    from paraphrastic_hf.generation.paraphrase import SyntacticParaphraser

    encoder: Any = None
    if arguments.encoder != "none" and not arguments.canonical:
        encoder = SentenceEncoder.from_pretrained(arguments.encoder)
    return SyntacticParaphraser.from_pretrained(
        arguments.model, generator=arguments.generator, parser=arguments.parser, encoder=encoder
    )


def templates_of(arguments: argparse.Namespace, counts: Mapping[str, int]) -> list[str]:
    """Return the templates of the options. `counts` has training templates, most frequent first."""
    from paraphrastic_hf.generation.templates import top_templates

    found = list(arguments.template)
    if arguments.templates:
        count = arguments.templates.removeprefix("top")
        if not (arguments.templates.startswith("top") and count.isdecimal() and int(count)):
            raise DataError(f"--templates must be topN, such as top20, got {arguments.templates!r}")
        found += top_templates(counts, int(count))
    if arguments.template_file:
        lines = [line for block in read_blocks(arguments.template_file) for line in block]
        found += [line for line in lines if line.strip()]
    if arguments.draw is not None:
        if not 1 <= arguments.draw <= len(found):
            raise DataError(
                f"--draw must be from 1 to {len(found)} (templates), got {arguments.draw}"
            )
        found = random.Random(arguments.seed).sample(found, arguments.draw)
    return found


def _trees(path: str) -> Iterator[Tree | None]:
    """Yield the tree of each line, or None for a malformed one, which standard error shows."""
    lines = chain.from_iterable(read_blocks(path))
    for number, line in enumerate(lines, 1):
        try:
            yield checked_tree(line)
        except DataError as error:
            print(f"paraphrastic paraphrase: {path}:{number}: {error}", file=sys.stderr)
            yield None


def row(number: int, one: Paraphrase) -> str:
    return tsv_line(
        str(number),
        "yes" if one.is_kept else "no",
        one.template,
        f"{one.nats:.4f}",
        f"{one.overlap:.4f}",
        f"{one.similarity:.4f}",
        one.text,
        one.remark,
    )
