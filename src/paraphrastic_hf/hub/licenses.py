"""Licenses of a model's sources, and the licenses that they allow for the weights.

Sources are the files and corpora of the recipe, and the models and vectors that training started
from. Their licenses come from the user, the corpus registry or a `SOURCES.tsv`. A public model
needs sources with a stated license that allows commercial use.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any

from paraphrastic_hf.corpora.sources import SOURCES
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.encoders.storage.fingerprint import weights_hash
from paraphrastic_hf.encoders.storage.locate import known_models, packaged_folder, packaged_names
from paraphrastic_hf.errors import PublishError
from paraphrastic_hf.hub.source_lists import listed_sources, release_class
from paraphrastic_hf.hub.trained import TrainedModel, dataset_title
from paraphrastic_hf.io.files import WEIGHTS, content_hash

RELEASABLE = ("open", "share-alike")
DEFAULT = "cc-by-sa-4.0"  # license of weights; most open sources require at least this
SHARED = ("cc-by-sa-4.0", "gpl-3.0")  # licenses that share-alike sources (CC BY-SA) allow


@dataclass(frozen=True)
class SourceLicense:
    """License of one source of a model.

    Attributes:
        license: License as stated by the authors, the registry or the user.
        release: `open`, `share-alike`, `non-commercial`, `no-derivatives` or `unstated`.
        packaged: Name of the packaged model, if the source is a packaged model.
    """

    name: str
    license: str
    release: str
    packaged: str | None = None


def source_licenses(
    trained: TrainedModel,
    *,
    data_root: str | Path | None = None,
    stated: Mapping[str, str] | None = None,
) -> list[SourceLicense]:
    """Return the license of each source of a model and of the models that training started from.

    Args:
        data_root: Data folder, whose subfolders list their files in `SOURCES.tsv`.
        stated: Licenses stated by the user, by the name of the source or its file.
    """
    stated = stated or {}
    found = list(dict.fromkeys(_all_sources(trained, data_root, stated)))
    names = {name for source in found for name in (source.name, Path(source.name).name)}
    for name in stated.keys() - names:
        known = ", ".join(source.name for source in found) or "none"
        raise PublishError(f"--source-license {name}: unknown source. The model's sources: {known}")
    return found


def checked_license(
    sources: Sequence[SourceLicense], wanted: str | None, *, private: bool
) -> str | None:
    """Return the license of the weights if the sources allow it.

    Without `wanted` the result is `DEFAULT`, or None for a private model whose sources allow no
    license.
    """
    refused = [
        f"{source.name}: {source.license} ({source.release})"
        for source in sources
        if source.release not in RELEASABLE
    ]
    if not sources:
        refused = ["no sources on record"]
    if refused and (wanted is not None or not private):
        more = f"; {len(refused) - 3} more" if len(refused) > 3 else ""
        raise PublishError(
            f"The sources do not allow publishing the model ({'; '.join(refused[:3])}{more}). "
            "Use --private without --license, or state the licenses with --source-license "
            "NAME=LICENSE"
        )
    if refused:
        return None
    shared = [source.name for source in sources if source.release == "share-alike"]
    if wanted is not None and shared and wanted not in SHARED:
        raise PublishError(f"{shared[0]} is share-alike. Use {' or '.join(SHARED)}, not {wanted}")
    return wanted or DEFAULT


def packaged_table(name: str) -> list[str]:
    lines = (packaged_folder(name) / "README.md").read_text(encoding="utf-8").splitlines()
    table = dropwhile(lambda line: not line.startswith("| source |"), lines)
    return list(takewhile(lambda line: line.startswith("|"), table))


def packaged_languages(sources: Sequence[SourceLicense]) -> list[str]:
    """Return the languages of the packaged model that is the only source, if any."""
    if len(sources) != 1 or not sources[0].packaged:
        return []
    return list(_packaged_data(sources[0].packaged).language)


def _all_sources(
    trained: TrainedModel, data_root: str | Path | None, stated: Mapping[str, str]
) -> Iterator[SourceLicense]:
    packaged = _identical_packaged(trained)
    if packaged is not None:
        yield packaged
        return
    weights, expected = trained.directory / WEIGHTS, trained.run.get("weights_sha256")
    if expected is not None and content_hash(weights) != expected:
        raise PublishError(
            f"{weights} changed after the run (weights_sha256 in run.json differs), so its sources "
            "are unknown. Train it again, or upload it with push_to_hub"
        )
    listed = listed_sources(data_root)
    for name, record in _names(trained):
        source = _source(name, record, listed, stated)
        folders = [Path(root) / name for root in ("", data_root or "")]
        runs = [folder for folder in folders if (folder / "run.json").is_file()]
        is_itself = runs and runs[0].resolve() == trained.directory.resolve()
        if source.release == "unstated" and runs and not is_itself:
            yield from _all_sources(TrainedModel.read(runs[0]), data_root, stated)
        else:
            yield source


def _names(trained: TrainedModel) -> list[tuple[str, str | None]]:
    """Return the sources in a recipe, each with its name in the corpus registry or None."""
    task = trained.recipe.get("task") or {}
    of_task = filter(None, [task.get("dataset"), *(task.get("extra_corpora") or ())])
    found: list[tuple[str, str | None]] = []
    for source in [*trained.sources, *({"dataset": dataset} for dataset in of_task)]:
        dataset = source.get("dataset")
        if dataset:
            found.append((dataset_title(dataset), dataset["name"]))
        else:
            found.append((str(source.get("path")), None))
    begun = [*trained.starts, *trained.teachers, *trained.merges]
    return list(dict.fromkeys([*found, *((name, None) for name in begun)]))


def _source(
    name: str, record: str | None, listed: Mapping[str, tuple[str, str]], stated: Mapping[str, str]
) -> SourceLicense:
    shown = Path(name).name if Path(name).is_absolute() else name
    license = stated.get(name) or stated.get(Path(name).name)
    if license is None and record in SOURCES:
        license = SOURCES[record].license
    if license is not None:
        return SourceLicense(shown, license, release_class(license))
    if name in known_models():
        return _packaged(name)
    for key, (license, release) in listed.items():
        if name == key or name.endswith(f"/{key}"):
            return SourceLicense(shown, license, release)
    return SourceLicense(shown, "not stated", "unstated")


def _identical_packaged(trained: TrainedModel) -> SourceLicense | None:
    """Return the packaged model with equal weights, if any. Its sources need no check."""
    if not trained.is_stock:
        return None
    for name in packaged_names():
        other = TrainedModel.read(packaged_folder(name))
        sizes = ("vocab_size", "hidden_size")
        if all(trained.config[size] == other.config.get(size) for size in sizes) and weights_hash(
            load_encoder(trained.directory)
        ) == weights_hash(load_encoder(other.directory)):
            return _packaged(name)
    return None


def _packaged(name: str) -> SourceLicense:
    name = "english" if name == "simile" else name
    license = str(_packaged_data(name).license)
    return SourceLicense(f"the packaged model {name}", license, release_class(license), name)


def _packaged_data(name: str) -> Any:
    from huggingface_hub import ModelCard

    return ModelCard.load(packaged_folder(name) / "README.md").data
