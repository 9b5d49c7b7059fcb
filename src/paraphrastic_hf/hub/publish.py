"""Publishing of models, datasets, metrics and Spaces as repositories of the Hub."""

import ast
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from paraphrastic_hf.corpora import export
from paraphrastic_hf.encoders.push import CARD
from paraphrastic_hf.encoders.storage.locate import check_model_name, known_models, packaged_model
from paraphrastic_hf.errors import PublishError, nearest_name
from paraphrastic_hf.hub.cards import ModelDetails
from paraphrastic_hf.hub.model_files import gather_model
from paraphrastic_hf.io.files import replacing, write_bytes
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.io.send import Destination, check_name, copy_files, refuse_leaks, upload
from paraphrastic_hf.metrics.install import MODULE, PLACE, export_space

KINDS = ("model", "dataset", "metric", "space")
HIDDEN = {"__pycache__", ".git", ".ipynb_checkpoints"}
# Writes the files of a repository, and returns the patterns of stale files.
Gather = Callable[[Path, str], list[str]]


def _gather_dataset(folder: Path, private: bool, output: Path, _: str) -> list[str]:
    name = export.exported_corpus(folder)
    if name is None:
        raise PublishError(
            f"{folder} is not an exported corpus. Write one with `paraphrastic data export`"
        )
    if not private:
        export.check_license(name)
    return export.gather(name, folder, output)


def _gather_space(folder: Path, output: Path, _: str) -> list[str]:
    front = _front(folder / CARD)
    if not front.get("sdk"):
        raise PublishError(f"{folder} is not a Space: its {CARD} must name `sdk` and `app_file`")
    program = folder / str(front.get("app_file", "app.py"))
    if front["sdk"] != "static" and not program.is_file():
        raise PublishError(f"app_file of {folder / CARD} does not exist: {program}")
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    copy_files(folder, (p for p in found if not HIDDEN & {*p.relative_to(folder).parts}), output)
    return []


def _gather_metric(folder: Path, output: Path, repository: str) -> list[str]:
    """Copy the files of a metric. `evaluate` loads the metric `ME/NAME` from `NAME.py`."""
    name = repository.rpartition("/")[2]
    metrics = [path.stem for path in sorted(folder.glob("*.py")) if _is_metric(path)]
    if name not in metrics:
        found = f"Rename the repository to {metrics[0]}" if metrics else "No script defines one"
        raise PublishError(f"{folder / name}.py is not a metric of `evaluate`. {found}")
    _gather_space(folder, output, repository)
    card = (output / CARD).read_text(encoding="utf-8").replace(PLACE, repository)
    write_bytes(output / CARD, card.encode("utf-8"))
    return []


def publish(
    kind: str,
    directory: str | Path,
    repository: str,
    *,
    dry_run: str | Path | None = None,
    private: bool = False,
    token: str | bool | None = None,
    revision: str | None = None,
    message: str | None = None,
    pull_request: bool = False,
    details: ModelDetails | None = None,
) -> str:
    """Publish a model, dataset, metric or Space on the Hub.

    A model gets a card with training record, scores, license and plots. All files are uploaded in
    one commit, so a failed call can be repeated.

    Args:
        kind: `model`, `dataset`, `metric` or `space`.
        directory: Folder written by `paraphrastic train` or `paraphrastic data export`, folder of a
            metric or Space, or name of a packaged model or of the metric `simile`.
        repository: Name of the repository, such as `someone/model`.
        dry_run: New folder to write the files to instead of uploading. Needs no token.
        private, token, revision, message, pull_request: As in `io.send.Destination`.
        details: Scores, licenses and other details of a model that its folder does not contain.

    Returns:
        URL of the commit or pull request, or the folder of the dry run.

    Raises:
        PublishError: If a license or the Hub does not allow the upload, or a file contains a secret
            or an absolute path.

    Example:
        >>> publish("model", "runs/mine", "me/mine", dry_run="mine")  # doctest: +SKIP
    """
    if kind not in KINDS:
        raise PublishError(f"Cannot publish a {kind!r}. {nearest_name(kind, KINDS)}")
    check_name(repository)
    if details is not None and kind != "model":
        raise PublishError(f"details apply to models only, not to a {kind}")
    with tempfile.TemporaryDirectory() as place:
        folder = _folder(kind, directory, Path(place))
        gather: Gather = {
            "model": partial(gather_model, folder, details or ModelDetails(), private),
            "dataset": partial(_gather_dataset, folder, private),
            "metric": partial(_gather_metric, folder),
            "space": partial(_gather_space, folder),
        }[kind]
        if dry_run is not None:
            return str(_write(gather, Path(dry_run), repository))
        hub_kind = "space" if kind == "metric" else kind
        to = Destination(
            repository,
            hub_kind,
            private=private,
            must_be_private=private,
            token=token,
            revision=revision,
            message=message or f"Publish a {kind} of paraphrastic_hf",
            pull_request=pull_request,
            sdk=_front(folder / CARD).get("sdk") if hub_kind == "space" else None,
        )
        return upload(to, gather)


def _folder(kind: str, directory: str | Path, place: Path) -> Path:
    if Path(directory).is_dir():
        return Path(directory)
    if kind == "metric" and str(directory) == "simile":
        export_space(place / MODULE.name)
        return place / MODULE.name
    if kind == "model" and str(directory) in known_models():
        return packaged_model(str(directory))
    if kind == "model":
        check_model_name(directory)
    raise PublishError(f"The folder {directory} does not exist")


def _write(gather: Gather, output: Path, repository: str) -> Path:
    with locked(output, doing="publishing"):
        if output.is_dir() and any(output.iterdir()):
            raise PublishError(f"{output} is not empty. Choose a new folder for the dry run")
        with replacing(output) as part:
            part.mkdir()
            gather(part, repository)
            refuse_leaks(part)
    return output


def _front(card: Path) -> Mapping[str, Any]:
    from huggingface_hub import RepoCard

    try:
        content = RepoCard(card.read_text(encoding="utf-8"), ignore_metadata_errors=True)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return dict(content.data.to_dict())


def _is_metric(script: Path) -> bool:
    """Return whether a file defines a subclass of `evaluate.Metric`, without running it."""
    try:
        tree = ast.parse(script.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return False
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return any(ast.unparse(base).endswith("Metric") for node in classes for base in node.bases)
