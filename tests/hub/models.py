"""Fully trained models on a Hub: published to a local server, and loaded with and without this
package.

`python -m tests.hub.models english tiny multilingual runs/mine` writes their table in
`docs/hub.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

from transformers import AutoConfig

from paraphrastic_hf.encoders.storage.directory import LAYOUTS
from paraphrastic_hf.encoders.storage.locate import as_directory
from paraphrastic_hf.errors import PublishError
from paraphrastic_hf.hub.model_files import ModelDetails
from paraphrastic_hf.hub.publish import publish
from paraphrastic_hf.io.markdown import markdown_table
from tests.hub.fresh import FRESH, Interpreter, compared, loaded
from tests.hub.matrix import hub_of, write_page
from tests.hub.server import Hub
from tests.trained import code_of

LICENSE = "do not allow"  # in the message for models that must be private
COLUMNS = ("model", "family", "MB", "pushed", *FRESH, "example")


def auto_class(directory: Path) -> str:
    config = type(AutoConfig.from_pretrained(directory))
    classes = [each.auto_class for each in LAYOUTS]
    return str(next(each.__name__ for each in classes if config in each._model_mapping))


def push(model: str, repository: str, data: str | None) -> str:
    """Publish a model, privately if its sources require it. Returns `public` or `private`."""
    for private in (False, True):
        details = ModelDetails(data_root=data, hide_paths=True)
        try:
            publish("model", model, repository, private=private, details=details)
        except PublishError as error:
            if private or LICENSE not in str(error):
                raise
        else:
            break
    return "private" if private else "public"


def example(python: Interpreter, hub: Hub, repository: str) -> str:
    """Whether the code of a card runs as printed."""
    code = code_of(hub.repositories[f"models/{repository}"]["README.md"].decode())
    done = python.run(code, present=True)
    return "yes" if done.returncode == 0 else f"no: {done.stderr.strip().splitlines()[-1]}"


def row(model: str, license: str, cells: list[str], code: str) -> list[str]:
    directory = Path(as_directory(model))
    family = json.loads((directory / "config.json").read_text(encoding="utf-8"))["model_type"]
    size = (directory / "model.safetensors").stat().st_size / 1e6
    family = family.removeprefix("paraphrastic-")
    return [directory.name, family, f"{size:.0f}", license, *cells, code]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="+", help="folder of a finished run, or a packaged model")
    parser.add_argument("--data", default=os.environ.get("PARAPHRASTIC_DATA"), help="data root")
    arguments = parser.parse_args()
    named = {f"me/{Path(as_directory(model)).name}": model for model in arguments.model}
    if len(named) < len(arguments.model):
        parser.error("two models have folders of one name")
    with tempfile.TemporaryDirectory() as name, hub_of(Path(name) / "home") as hub:
        pushed = {
            repository: push(model, repository, arguments.data)
            for repository, model in named.items()
        }
        autos = {
            repository: auto_class(Path(as_directory(model))) for repository, model in named.items()
        }
        python = Interpreter(hub, Path(name))
        print(pushed, flush=True)
        found = loaded(python, autos)
        print(found, flush=True)
        rows = [
            row(
                model,
                pushed[repository],
                compared(found["absent"][repository], found["present"][repository]),
                example(python, hub, repository),
            )
            for repository, model in named.items()
        ]
    table = markdown_table(list(COLUMNS), rows, "llrlllll")
    print(*table, sep="\n")
    write_page("tests.hub.models", table)


if __name__ == "__main__":
    main()
