"""`paraphrastic publish KIND DIR REPO`."""

import argparse
import os
from dataclasses import fields
from typing import Any

from paraphrastic_hf.cli.shared.lines import check_output
from paraphrastic_hf.cli.shared.options import VARIABLE, add_data_option
from paraphrastic_hf.cli.shared.parser import Parser
from paraphrastic_hf.errors import PublishError
from paraphrastic_hf.extras import require

EPILOG = """\
DIR by kind:
  model    a folder of `paraphrastic train`, or a packaged model. Uploads weights, tokenizer,
           recipe, training curve, and a card with code that runs. The scores are on the card, in
           its model-index and in .eval_results/.
  dataset  a folder of `paraphrastic data export`
  metric   `simile`, or a folder with a metric of `evaluate`, loaded by evaluate.load("ME/simile")
  space    a folder whose README.md names sdk and app_file

You need a token with write access: `hf auth login`, or HF_TOKEN. All files go in one commit. If the
upload fails, repeat the command: large files are not sent twice.

Nothing is sent if
* the sources of a model do not allow its license (sources without a license or with a
  non-commercial one need --private)
* a file holds a secret or an absolute path, or a link leads out of DIR

examples:
  paraphrastic publish model runs/mine me/mine --source-license mine.tsv=cc-by-4.0
  paraphrastic publish model english me/english --evaluation scores --copies onnx
  paraphrastic publish dataset sts17-parquet me/sts17 --pull-request
  paraphrastic publish metric simile me/simile
  paraphrastic publish space hub_cards/spaces/paraphrastic me/paraphrastic"""


def configure(parser: Parser) -> None:
    parser.option("kind", "kind of DIR", choices=("model", "dataset", "metric", "space"))
    parser.option("directory DIR", "folder to publish, or the name of a packaged model or metric")
    parser.option("repository REPO", "repository on the Hub, such as me/my-model")
    parser.option(
        "--dry-run OUT", "write the files to a new folder instead of uploading. Needs no token"
    )
    parser.flag("--private", "create a private repository (default: public)")
    parser.option("--message", "commit message (default: states the kind of upload)")
    parser.option("--revision BRANCH", "branch to write to (default: main)")
    parser.flag("--pull-request", "open a pull request instead of committing to the branch")
    of_model = parser.add_argument_group("options for models")

    def option(name: str, help: str, default: Any = None, **options: Any) -> None:
        parser.option(name, help, default, group=of_model, **options)

    option(
        "--evaluation DIR",
        "folder of `paraphrastic evaluate --output` with the scores for the card (default: only "
        "scores in the training record)",
    )
    add_data_option(
        parser,
        "its SOURCES.tsv files list the licenses of the training text",
        group=of_model,
        dest="data_root",
    )
    option(
        "--source-license NAME=LICENSE",
        "licenses of training files that neither the corpus registry nor SOURCES.tsv lists, by "
        "file name",
        [],
        nargs="+",
        dest="source_licenses",
    )
    option("--license", "Hub name of the license (default: one that the sources allow)")
    option("--summary TEXT", "one or two sentences for the top of the card", "")
    option(
        "--languages CODE",
        "language codes (ISO 639) of the model (default: languages of its recipe)",
        [],
        nargs="+",
    )
    option(
        "--base-model REPO",
        "models that training started from (default: the recipe's start)",
        [],
        nargs="+",
    )
    option("--datasets REPO", "Hub names of the training datasets", [], nargs="+")
    option(
        "--copies",
        "copies for other libraries beside the model: model2vec/ and onnx/ (transformers.js). "
        "Averaging models only",
        [],
        nargs="+",
        choices=("model2vec", "onnx"),
    )
    parser.flag(
        "--hide-paths",
        "shorten absolute paths in recipe.yaml and run.json to the last part (default: fail)",
        group=of_model,
    )
    parser.flag(
        "--allow-code",
        "upload the Python files in DIR unchanged, for an encoder of your own (default: upload "
        "this package's code, and fail for other code)",
        group=of_model,
    )


def run(arguments: argparse.Namespace) -> None:
    if arguments.dry_run:
        check_output(arguments.dry_run, is_folder=True)
    require("train", "torch", "transformers", what="publishing")
    from paraphrastic_hf.hub.cards import ModelDetails
    from paraphrastic_hf.hub.publish import publish

    given = {field.name: getattr(arguments, field.name) for field in fields(ModelDetails)}
    given["source_licenses"] = dict(map(_license, arguments.source_licenses))
    given = {name: value for name, value in given.items() if value}
    if arguments.kind == "model":
        details = ModelDetails(**{"data_root": os.environ.get(VARIABLE), **given})
    elif given:
        options = {"data_root": "data", "source_licenses": "source-license"}
        name = next(iter(given))
        option = options.get(name, name.replace("_", "-"))
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


def _license(text: str) -> tuple[str, str]:
    name, _, license = text.rpartition("=")
    if not name or not license:
        raise PublishError(f"--source-license takes NAME=LICENSE, got {text!r}")
    return name, license
