"""`paraphrastic significance MODEL_A MODEL_B --suite NAME`, or `--pairs FILE`."""

import argparse

from paraphrastic_hf.cli.evaluate import add_test_options, chosen_tests
from paraphrastic_hf.cli.shared.options import MODEL, add_smaller_options, smaller
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.cli.simile import add_resampling_arguments
from paraphrastic_hf.errors import counted
from paraphrastic_hf.io.markdown import literal

EPILOG = """\
Two-sided p-values of the difference between the models, per dataset:
* paired permutation test: all permutations for up to 20 examples, else --samples random ones
* Steiger's test for dependent correlations (thesis, 3.5.3), approximate for Spearman's rho.
  It does not apply to accuracies (tatoeba, xnli) and F1 (bucc).
The 95 % interval of the difference is a bootstrap over the examples. Of twenty datasets, one falls
below p = 0.05 by chance. A task without data is skipped with a message, and the exit status is 3.

examples:
  paraphrastic significance english runs/mine --pairs mine.tsv
  paraphrastic significance english english --dimension 80 --precision int4 --data DATA"""


def configure(parser: Parser) -> None:
    parser.option("first MODEL_A", MODEL)
    parser.option("second MODEL_B", "encoder to compare with MODEL_A")
    add_test_options(parser, "suites of scored pairs, tatoeba, bucc or xnli")
    add_resampling_arguments(parser)
    add_smaller_options(parser, "MODEL_B")
    parser.option("--output FILE", "file to write the table to (default: only print it)")


def run(arguments: argparse.Namespace) -> int:
    suites, data_dir, own = chosen_tests(arguments)
    import os
    import sys

    from paraphrastic_hf.cli.shared.lines import check_output, open_output
    from paraphrastic_hf.encoders.load import load_encoder
    from paraphrastic_hf.evaluation.own import judge
    from paraphrastic_hf.evaluation.significance import (
        Difference,
        compare_encoders,
        compare_judged,
        mean_difference,
        significance_table,
    )

    if arguments.output:
        check_output(arguments.output)
    models = (arguments.first, arguments.second)
    first = load_encoder(arguments.first)
    second = smaller(load_encoder(arguments.second), arguments, arguments.second)
    resampling = {"samples": arguments.samples, "seed": arguments.seed}
    differences: list[Difference] = []
    skipped: dict[str, str] = {}
    if suites:
        differences, skipped = compare_encoders(first, second, suites, data_dir, **resampling)
    if own is not None:
        a, b = (judge(encoder.encode, own) for encoder in (first, second))
        differences += compare_judged(a, b, **resampling)
    names = [os.path.basename(os.path.normpath(model)) for model in models]
    if arguments.dimension is not None or arguments.precision is not None:
        names[1] = second.name
    if names[0] == names[1]:
        names = list(models)
    lines = [f"{own.name}: {own.taken}.", ""] if own is not None else []
    lines += significance_table(differences, (names[0], names[1]))
    about = f"Scores x 100; {counted(arguments.samples, 'sample')}, seed {arguments.seed}."
    lines += ["", about]
    mean, datasets = mean_difference(differences)
    if datasets > 1:
        lines.append(f"Mean absolute difference over {datasets} datasets of STS years: {mean:.2f}.")
    lines += [literal(f"Skipped, {task}: {reason}") for task, reason in skipped.items()]
    on = ", ".join([*suites, *([own.name] if own is not None else [])])
    title = literal(f"{names[0]} and {names[1]}: {on}")
    table = "\n".join([f"# {title}", "", *lines]) + "\n"
    if arguments.output != "-":  # printed once
        print(table, end="")
    if arguments.output:
        with open_output(arguments.output) as file:
            file.write(table)
    if skipped:
        print(f"paraphrastic significance: {len(skipped)} skipped, see above", file=sys.stderr)
    return 3 if skipped else 0
