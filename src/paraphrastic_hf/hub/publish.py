"""A model, dataset, metric or Space as a repository of the Hub: what goes there, and what may not.

Each kind has a class here that recognises its folder and gathers what is to be sent. Sending is
`io/send.py`; cards, licences and scores have files of their own beside this one.
"""

from __future__ import annotations

import ast
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import yaml

from paraphrastic_hf.corpora import export
from paraphrastic_hf.encoders.push import CARD
from paraphrastic_hf.encoders.storage.locate import check_model_name, known_models, packaged_model
from paraphrastic_hf.errors import DataError, ModelError, PublishError, nearest_name
from paraphrastic_hf.hub.model_files import ModelDetails, gather_model
from paraphrastic_hf.hub.trained import TrainedModel
from paraphrastic_hf.io.files import replacing, write_bytes
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.io.send import (
    Destination,
    Standing,
    check_destination,
    check_name,
    copy_files,
    refuse_leaks,
    send,
)
from paraphrastic_hf.metrics.install import MODULE, PLACE, export_space

HIDDEN = ("__pycache__", ".git", ".ipynb_checkpoints")


@dataclass
class Release:
    """Something that can be published.

    Attributes:
        directory: Its folder.
        repository: What its repository is to be called.
        private: Whether that is private.
        details: What is known of a model beside its folder.
    """

    hub_kind: ClassVar[str] = "model"

    directory: Path
    repository: str
    private: bool = False
    details: ModelDetails = field(default_factory=ModelDetails)

    def check(self) -> None:
        """Refuse a folder that holds nothing of this kind.

        Raises:
            PublishError: It does not.
        """
        raise NotImplementedError

    def gather(self, output: Path) -> list[str]:
        """Write what is to be sent, and return patterns of files that an earlier one may have left.

        Args:
            output: An empty folder.
        """
        raise NotImplementedError

    def identity(self, folder: Path) -> str:
        """What a repository with the files of a folder is, to tell a new version of it from
        another thing; nothing if that cannot be said."""
        return str(_front(folder / CARD).get("title", ""))


class ModelRelease(Release):
    """A model that `paraphrastic train` made, or one that comes with the package."""

    def check(self) -> None:
        """Refuse a folder without a finished run."""
        self.trained()

    def trained(self) -> TrainedModel:
        """The model with the records of its run."""
        try:
            return TrainedModel.read(self.directory)
        except ModelError as error:
            raise PublishError(
                f"{error}; what was made otherwise is uploaded by its push_to_hub"
            ) from error

    def gather(self, output: Path) -> list[str]:
        """Write the model's files, card, scores and plots."""
        return gather_model(
            self.trained(), self.repository, self.details, output, private=self.private
        )

    def identity(self, folder: Path) -> str:
        """The type of the model."""
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            return str(config.get("model_type", ""))
        except (OSError, ValueError):
            return ""


class DatasetRelease(Release):
    """What `paraphrastic data export` wrote."""

    hub_kind = "dataset"

    def check(self) -> None:
        """Refuse what is no export, and a corpus that may not be public."""
        try:
            export.check_exported(self._corpus(), self.directory, public=not self.private)
        except DataError as error:
            raise PublishError(
                str(error).replace("push it as private", "publish it --private")
            ) from error

    def gather(self, output: Path) -> list[str]:
        """Copy the parquet files and write the card."""
        return export.gather(self._corpus(), self.directory, output)

    def identity(self, folder: Path) -> str:
        """The name of the corpus."""
        return str(_front(folder / CARD).get("pretty_name", ""))

    def _corpus(self) -> str:
        name = export.exported_corpus(self.directory)
        if name is None:
            raise PublishError(
                f"{self.directory} is no export of a corpus; `paraphrastic data export NAME "
                "--output DIR` writes one"
            )
        return name


class SpaceRelease(Release):
    """A folder with a card that says what it runs by, and the program that it runs."""

    hub_kind = "space"

    def check(self) -> None:
        """Refuse a folder without a card of a Space, or without its program."""
        front = _front(self.directory / CARD)
        if not front.get("sdk"):
            raise PublishError(
                f"{self.directory} holds no Space: its {CARD} must name `sdk` and `app_file`"
            )
        program = str(front.get("app_file", "app.py"))
        if front["sdk"] != "static" and not (self.directory / program).is_file():
            raise PublishError(f"{self.directory} lacks {program}, which its card says is run")

    def gather(self, output: Path) -> list[str]:
        """Copy all files but those that tools leave."""
        found = (path for path in sorted(self.directory.rglob("*")) if path.is_file())
        kept = (p for p in found if not set(p.relative_to(self.directory).parts) & set(HIDDEN))
        copy_files(self.directory, kept, output)
        return []


class MetricRelease(SpaceRelease):
    """A metric of `evaluate`, which loads it from a Space of the name of its script."""

    def check(self) -> None:
        """Refuse a folder without a metric, or under another name than its script's."""
        name = self.repository.rpartition("/")[2]
        script = self.directory / f"{name}.py"
        if not script.is_file():
            metrics = [
                path.stem for path in sorted(self.directory.glob("*.py")) if _is_metric(path)
            ]
            if not metrics:
                raise PublishError(
                    f"{self.directory} holds no metric of `evaluate`; `paraphrastic install-metric "
                    "--space DIR` writes the files of SimiLE"
                )
            raise PublishError(
                f"evaluate.load({self.repository!r}) would look for {name}.py, and the metric is "
                f"{metrics[0]}.py: call the repository {_owner(self.repository)}{metrics[0]}"
            )
        if not _is_metric(script):
            raise PublishError(f"{script} defines no class of `evaluate.Metric`")
        super().check()

    def gather(self, output: Path) -> list[str]:
        """Copy all files, and have the card of SimiLE name the place that it is loaded from."""
        stale = super().gather(output)
        card = (output / CARD).read_text(encoding="utf-8").replace(PLACE, self.repository)
        write_bytes(output / CARD, card.encode("utf-8"))
        return stale


RELEASES: dict[str, type[Release]] = {
    "model": ModelRelease,
    "dataset": DatasetRelease,
    "metric": MetricRelease,
    "space": SpaceRelease,
}


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
    """Put a model, dataset, metric or Space on the Hub, with everything that belongs to it.

    A model goes with a card written from its run and its scores, its licence as its sources allow
    it, `model-index` and `.eval_results/`, recipe and plots. Nothing is done before the token, the
    name and the folder are found right. To go on after a call that broke off, repeat it.

    Args:
        kind: `model`, `dataset`, `metric` or `space`.
        directory: What `paraphrastic train`, `paraphrastic data export` or `paraphrastic
            install-metric --space` wrote, or the folder of a Space. Names stand for what comes with
            the package: `english`, `tiny` and `multilingual` for models, `simile` for the metric.
        repository: Such as `someone/model`.
        dry_run: Folder to write what would be sent to; nothing is sent then, and no token needed.
        private: Whether the repository is private, as it must be where a licence says so.
        token: Of the account; the one of `hf auth login` or of HF_TOKEN if None.
        revision: Branch, made if need be.
        message: What the commit says.
        pull_request: Open a pull request at a repository that is there.
        details: What is known of a model beside its folder: scores, licences of its sources, ...

    Returns:
        The address of the commit or pull request, or the folder of the dry run.

    Raises:
        PublishError: The folder is none of that kind, the name is taken by something else, the
            licence or a figure of the card has no ground, a file holds a secret or an absolute
            path, a link leads out of the folder, or the Hub refuses or cannot be reached.

    Example:
        >>> publish("model", "runs/mine", "me/mine", dry_run="mine")  # doctest: +SKIP
    """
    if kind not in RELEASES:
        raise PublishError(f"there is no kind {kind!r} to publish; {nearest_name(kind, RELEASES)}")
    cls = RELEASES[kind]
    check_name(repository)
    if details is not None and kind != "model":
        raise PublishError(f"scores, licences and cards are given for a model, not for a {kind}")
    if dry_run is not None:
        _refuse_full(Path(dry_run))
    with tempfile.TemporaryDirectory() as place:
        folder = _folder(kind, directory, Path(place))
        release = cls(folder, repository, private, details or ModelDetails())
        release.check()
        if dry_run is not None:
            return str(_written(release, Path(dry_run)))
        sdk = str(_front(folder / CARD).get("sdk")) if cls.hub_kind == "space" else None
        to = Destination(
            repository,
            cls.hub_kind,
            private=private,
            token=token,
            revision=revision,
            message=message or f"Publish a {kind} of paraphrastic_hf",
            pull_request=pull_request,
            sdk=sdk,
        )
        standing = check_destination(to)
        release.repository = standing.repository
        output = Path(place) / "output"
        output.mkdir()
        stale = release.gather(output)
        _refuse_taken(release, output, to, standing)
        return send(output, to, standing, stale=stale)


def _folder(kind: str, directory: str | Path, place: Path) -> Path:
    """The folder that a name stands for."""
    if kind == "metric" and str(directory) == "simile" and not Path(directory).is_dir():
        export_space(place / MODULE.name)
        return place / MODULE.name
    if kind == "model" and str(directory) in known_models() and not Path(directory).is_dir():
        return packaged_model(str(directory))
    if not Path(directory).is_dir():
        if kind == "model":
            check_model_name(directory)
        raise PublishError(f"{directory} is no folder; give the one to publish")
    return Path(directory)


def _refuse_full(output: Path) -> None:
    if output.is_dir() and any(output.iterdir()):
        raise PublishError(f"{output} is not empty; name a new folder for the dry run")


def _written(release: Release, output: Path) -> Path:
    """What would be sent, in a folder of its own, with the same refusals.

    Raises:
        PublishError: The folder holds something, or may not be sent.
        BusyError: Another process writes there.
    """
    with locked(output, doing="publishing"):
        _refuse_full(output)
        with replacing(output) as partial:
            partial.mkdir()
            release.gather(partial)
            refuse_leaks(partial)
    return output


def _refuse_taken(release: Release, output: Path, to: Destination, standing: Standing) -> None:
    """Refuse a repository that holds something else than an earlier version of this.

    Raises:
        PublishError: It does.
    """
    if not standing.exists or standing.is_empty:
        return
    from huggingface_hub import hf_hub_download

    own = release.identity(output)
    with tempfile.TemporaryDirectory() as place:
        for name in {CARD, "config.json"} & set(standing.files):
            hf_hub_download(
                standing.repository,
                name,
                repo_type=to.kind,
                token=to.token,
                local_dir=place,
            )
        theirs = release.identity(Path(place))
    if theirs != own:
        raise PublishError(
            f"{standing.repository} is taken: it holds {theirs or 'other files'}, and this is "
            f"{own}; choose another name"
        )


def _front(card: Path) -> Mapping[str, Any]:
    """The metadata of a card; nothing where there is none, or none that can be read."""
    from huggingface_hub import RepoCard

    try:
        content = RepoCard(card.read_text(encoding="utf-8"), ignore_metadata_errors=True)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return dict(content.data.to_dict())


def _is_metric(script: Path) -> bool:
    """Whether a file defines a class over `evaluate.Metric`, found without running it."""
    try:
        tree = ast.parse(script.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return False
    bases = [
        base for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases
    ]
    return any(ast.unparse(base).rpartition(".")[2] == "Metric" for base in bases)


def _owner(repository: str) -> str:
    return "".join(repository.rpartition("/")[:2])
