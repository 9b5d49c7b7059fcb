"""`paraphrastic attack CLASSIFIER EXAMPLES`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraphrastic_hf.cli.shared.lines import check_inputs, dump_json, holds_output, open_output
from paraphrastic_hf.cli.shared.options import add_trust_option, data_errors
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.files import tsv_line
from paraphrastic_hf.io.markdown import literal

if TYPE_CHECKING:
    from paraphrastic_hf.evaluation.adversarial import Attack

TRANSLATED = "nmt-bt"  # name of back-translated paraphrases in reports

EPILOG = """\
A row of the examples is label and text, tab-separated, and the second text if the classifier takes
pairs. Paraphrases are of the first text. A file of paraphrases is the output of `paraphrastic
paraphrase`, or has rows of line number (from 1) and paraphrase.

The output folder gets attack.md, attack.json and, for each source of paraphrases, NAME.broken.tsv
and NAME.training.tsv. The latter has label, paraphrase and second text: add it with
task.extra_examples of a recipe to train a more robust classifier (thesis, 6.5).

examples:
  paraphrastic paraphrase runs/scpn sentences.txt --generator runs/parse-generator \\
      --parser runs/parser --templates top20 --kept --output paraphrases.tsv
  paraphrastic attack runs/sentiment dev.tsv --paraphrases scpn=paraphrases.tsv --output attack
  paraphrastic attack runs/sentiment dev.tsv --back-translate runs/en-es runs/es-en --output out"""


def configure(parser: Parser) -> None:
    parser.option(
        "classifier", "classifier of this package, or text-classification model of transformers"
    )
    parser.option("file", "TSV file of examples: label, text and, for text pairs, second text")
    parser.option(
        "--paraphrases [NAME=]FILE",
        "paraphrases of the texts. May be repeated",
        default=[],
        action="append",
    )
    parser.option(
        "--back-translate",
        "two models of `translate`, there and back, that paraphrase the texts by "
        "back-translation. A target language may follow a colon: runs/bgt:fr runs/bgt:en",
        nargs=2,
        metavar=("FORTH", "BACK"),
    )
    parser.option("--outputs", "paraphrases per text with --back-translate", default=10)
    parser.option(
        "--encoder MODEL", "encoder for the similarity of paraphrases, or none", default="english"
    )
    parser.option("--language-model MODEL", "language model for the perplexity of paraphrases")
    parser.option("--output DIR", "folder of the report", required=True)
    add_trust_option(parser)


@holds_output("attacking")
def run(arguments: argparse.Namespace) -> None:
    named = [_named(each) for each in arguments.paraphrases]
    check_inputs(arguments.file, *(path for _, path in named))
    names = [*(name for name, _ in named), *([TRANSLATED] if arguments.back_translate else [])]
    for name in names:
        if not name or "/" in name or names.count(name) > 1:
            raise DataError(
                "Each source of paraphrases must have a distinct name that is valid in a file "
                f"name, got {name!r}. Write --paraphrases NAME=FILE"
            )
    if not names:
        raise DataError("Pass --paraphrases FILE or --back-translate FORTH BACK")
    from paraphrastic_hf.evaluation.adversarial import (
        attack,
        attack_markdown,
        back_translate,
        read_examples,
        read_paraphrases,
        report_attack,
    )
    from paraphrastic_hf.predictors.any_classifier import load_classifier

    examples = read_examples(arguments.file)
    sources = [(name, read_paraphrases(path, len(examples))) for name, path in named]
    trust = arguments.trust_remote_code
    labels = sorted({each.label for each in examples})
    classify = load_classifier(arguments.classifier, labels=labels, trust_remote_code=trust)
    encoder, perplexity = _judges(arguments)
    if arguments.back_translate:
        from paraphrastic_hf.generation.any_translator import load_translator

        with data_errors():
            forth, back = (
                load_translator(**_named_translator(each), trust_remote_code=trust)
                for each in arguments.back_translate
            )
        count = arguments.outputs
        texts = [example.text for example in examples]
        written = back_translate(texts, forth, back, outputs=count, beams=max(count, 5))
        sources.append((TRANSLATED, written))
    folder = Path(arguments.output)
    reports = {}
    for name, paraphrases in sources:
        attacks = attack(examples, classify, paraphrases)
        reports[name] = report_attack(attacks, encoder=encoder, perplexity=perplexity)
        _write(folder, name, attacks)
    text = attack_markdown(reports)
    with open_output(str(folder / "attack.md")) as file:
        file.write(f"# Attack on {literal(Path(arguments.classifier).name)}\n\n{text}")
    with open_output(str(folder / "attack.json")) as file:
        dump_json(reports, file)
    print(text, end="")


def _named(text: str) -> tuple[str, str]:
    """Split an argument such as `scpn=FILE` into a name and a file."""
    name, equals, path = text.partition("=")
    return (name, path) if equals and not Path(text).exists() else (Path(text).stem, text)


def _named_translator(name: str) -> dict[str, Any]:
    """Split an argument such as `runs/bgt:fr` into a model and its target language `to`."""
    model, _, to = (name, "", "") if Path(name).exists() else name.rpartition(":")
    return {"name": model, "to": to or None} if model else {"name": to, "to": None}


def _judges(arguments: argparse.Namespace) -> tuple[Any, Any]:
    encoder = perplexity = None
    if arguments.encoder != "none":
        from paraphrastic_hf.encoders.encoder import SentenceEncoder

        encoder = SentenceEncoder.from_pretrained(arguments.encoder)
    if arguments.language_model:
        from paraphrastic_hf.generation.likelihood import LanguageScorer

        scorer = LanguageScorer.from_pretrained(arguments.language_model)

        def perplexity(texts: Sequence[str]) -> Any:
            return scorer.score(texts).perplexity

    return encoder, perplexity


def _write(folder: Path, name: str, attacks: Sequence[Attack]) -> None:
    from paraphrastic_hf.evaluation.adversarial import training_rows

    with open_output(str(folder / f"{name}.training.tsv")) as file:
        file.writelines(tsv_line(*row) for row in training_rows(attacks))
    with open_output(str(folder / f"{name}.broken.tsv")) as file:
        file.write("label\tanswer\ttext\tparaphrase\n")
        for each in (each for each in attacks if each.is_broken):
            for text, answer in zip(each.paraphrases, each.answers, strict=True):
                if answer != each.example.label:
                    file.write(tsv_line(each.example.label, answer, each.example.text, text))
