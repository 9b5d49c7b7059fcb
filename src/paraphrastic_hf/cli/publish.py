"""`paraphrastic publish KIND DIR REPO`."""

from __future__ import annotations

import argparse
import os
from typing import Any

from paraphrastic_hf.cli.shared.lines import check_inputs, check_output
from paraphrastic_hf.cli.shared.options import VARIABLE, add_data_option
from paraphrastic_hf.errors import PublishError
from paraphrastic_hf.extras import require

EPILOG = """\
What is sent, by kind:
  model    a folder that `paraphrastic train` wrote, or the name of a packaged model: weights,
           tokenizer, recipe, training curve, and a card written from the run and the scores, with
           code that runs. Scores are on the card, in its model-index and in .eval_results/.
  dataset  a folder that `paraphrastic data export` wrote.
  metric   `simile`, or a folder with a metric of `evaluate`. evaluate.load("ME/simile") loads it.
  space    a folder whose README.md says what runs it (sdk, app_file).

A token with write access is needed: `hf auth login`, or HF_TOKEN. It is checked before any work.
All files go in one commit. If sending fails, repeat the command: large files are not sent twice.

Refused before anything is sent: a license that the sources of a model do not allow (a source
without a stated license, or a non-commercial one, needs --private), a figure on a card that was not
measured, secrets and absolute paths in files, and links that lead out of DIR.

examples:
  paraphrastic publish model runs/mine me/mine --source-license mine.tsv=cc-by-4.0 --dry-run look
  paraphrastic publish model runs/mine me/mine --source-license mine.tsv=cc-by-4.0
  paraphrastic publish model runs/mine me/mine --private --message "Longer training"
  paraphrastic publish model english me/english --evaluation scores
  paraphrastic publish dataset sts17-parquet me/sts17 --pull-request
  paraphrastic publish metric simile me/simile
  paraphrastic publish space hub_cards/spaces/paraphrastic me/paraphrastic"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument(
        "kind", choices=("model", "dataset", "metric", "space"), help="what DIR holds"
    )
    parser.add_argument("directory", metavar="DIR", help="the folder to publish, or a name")
    parser.add_argument("repository", metavar="REPO", help="where to, such as me/my-model")
    parser.add_argument(
        "--dry-run",
        metavar="OUT",
        help="write what would be sent to this new folder, and send nothing; needs no token",
    )
    parser.add_argument(
        "--private", action="store_true", help="a private repository (default: a public one)"
    )
    parser.add_argument("--message", help="commit message (default: the kind that is published)")
    parser.add_argument("--revision", metavar="BRANCH", help="branch to write to (default: main)")
    parser.add_argument(
        "--pull-request",
        action="store_true",
        help="open a pull request at the repository instead of writing to it",
    )
    of_model = parser.add_argument_group("of a model")
    of_model.add_argument(
        "--evaluation",
        metavar="DIR",
        help="the folder that `paraphrastic evaluate --output` wrote for it (default: no scores "
        "but those of its own run)",
    )
    add_data_option(of_model, "whose folders list licenses in SOURCES.tsv")
    of_model.add_argument(
        "--source-license",
        nargs="+",
        default=[],
        metavar="NAME=LICENSE",
        help="the licenses of sources that no record has, by the names of their files",
    )
    of_model.add_argument(
        "--license", help="of the weights, as the Hub names it (default: as the sources allow)"
    )
    of_model.add_argument("--summary", default="", help="one or two sentences to begin the card")
    for option, metavar, what in (
        ("--languages", "CODE", "codes of its languages (default: those that its recipe names)"),
        ("--base-model", "REPO", "models that it began with (default: the recipe's start)"),
        ("--datasets", "REPO", "datasets of the Hub that it was trained on"),
    ):
        of_model.add_argument(option, nargs="+", default=[], metavar=metavar, help=what)
    of_model.add_argument(
        "--card", metavar="FILE", help="a card of your own (default: one written from the run)"
    )
    of_model.add_argument(
        "--hide-paths",
        action="store_true",
        help="cut absolute paths in recipe.yaml and run.json to their last part (default: refuse)",
    )
    of_model.add_argument(
        "--allow-code",
        action="store_true",
        help="send the Python files in DIR as they are, as those of an encoder of your own "
        "(default: write those of this package anew, and refuse others)",
    )
    parser.epilog = EPILOG
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Publish, and print the address."""
    given = _details(arguments)
    if arguments.card:
        check_inputs(arguments.card)
    if arguments.dry_run:
        check_output(arguments.dry_run, is_folder=True)
    require("train", "torch", "transformers", what="publishing")
    from paraphrastic_hf.hub.model_files import ModelDetails
    from paraphrastic_hf.hub.publish import publish

    if arguments.kind == "model":
        given.setdefault("data_root", os.environ.get(VARIABLE))
        details = ModelDetails(**given)
    elif given:
        option = next(iter(given)).replace("_", "-").replace("data-root", "data")
        raise PublishError(f"--{option} applies to models only, not to a {arguments.kind}")
    else:
        details = None
    address = publish(
        arguments.kind,
        arguments.directory,
        arguments.repository,
        dry_run=arguments.dry_run,
        private=arguments.private,
        revision=arguments.revision,
        message=arguments.message,
        pull_request=arguments.pull_request,
        details=details,
    )
    print(address)


def _details(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of a model that were given."""
    licenses = {}
    for item in arguments.source_license:
        name, equals, license = item.rpartition("=")
        if not equals or not name or not license:
            raise PublishError(f"--source-license takes NAME=LICENSE, got {item!r}")
        licenses[name] = license
    given = {
        "evaluation": arguments.evaluation,
        "data_root": arguments.data,
        "source_licenses": licenses,
        "license": arguments.license,
        "summary": arguments.summary,
        "languages": arguments.languages,
        "base_model": arguments.base_model,
        "datasets": arguments.datasets,
        "card": arguments.card,
        "hide_paths": arguments.hide_paths,
        "allow_code": arguments.allow_code,
    }
    return {name: value for name, value in given.items() if value}
