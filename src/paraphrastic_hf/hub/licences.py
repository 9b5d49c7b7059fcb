"""What the sources of a model allow: under which licence it may be published, or that it may not.

A source is what the recipe names: a file, a corpus on record, or a trained model or vectors that
the run began with. Its licence is that of the record, or of a `SOURCES.tsv` in a folder of the
data, or what the publisher states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from paraphrastic_hf.corpora.sources import SOURCES
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.encoders.storage.fingerprint import weights_hash
from paraphrastic_hf.encoders.storage.locate import known_models, packaged_folder, packaged_names
from paraphrastic_hf.errors import ModelError, PublishError
from paraphrastic_hf.hub.source_lists import listed_sources, release_class
from paraphrastic_hf.hub.trained import TrainedModel, dataset_title
from paraphrastic_hf.io.files import WEIGHTS, content_hash

RELEASABLE = ("open", "share-alike")
DEFAULT = "cc-by-sa-4.0"  # of the weights; the text of most open sources asks for no less
# Licences that the share-alike sources (CC BY-SA) allow.
SHARED = ("cc-by-sa-4.0", "gpl-3.0")
PACKAGED = "the packaged model {}"


@dataclass(frozen=True)
class SourceLicence:
    """What is known of one source of a model.

    Attributes:
        name: As the card calls it.
        licence: As its authors, a record or the publisher state it.
        release: `open`, `share-alike`, `non-commercial`, `no-derivatives` or `unstated`.
        packaged: The name of the packaged model that it is, if it is one.
    """

    name: str
    licence: str
    release: str
    packaged: str | None = None


def source_licences(
    trained: TrainedModel,
    *,
    data_root: str | Path | None = None,
    stated: Mapping[str, str] | None = None,
) -> list[SourceLicence]:
    """The licence of everything that a model was trained on or began with.

    Args:
        trained: The model.
        data_root: Folder of all data, whose folders list their files in `SOURCES.tsv`; None if
            there is none.
        stated: Licences that the publisher states, by the name of the source or its file.

    Raises:
        PublishError: A licence is stated for something that is no source of the model, or its
            weights are not those that its run left.
    """
    stated = dict(stated or {})
    found = list(dict.fromkeys(_all_sources(trained, data_root, stated)))
    used = {name for source in found for name in (source.name, Path(source.name).name)}
    for name in stated:
        if name not in used:
            known = ", ".join(source.name for source in found) or "none"
            raise PublishError(
                f"--source-licence {name}: the model has no such source; it has {known}"
            )
    return found


def _all_sources(
    trained: TrainedModel, data_root: str | Path | None, stated: Mapping[str, str]
) -> Iterator[SourceLicence]:
    """The sources of a model, and those of the runs that it began with."""
    packaged = _packaged_alike(trained)
    if packaged is not None:
        yield packaged
        return
    refuse_other_weights(trained)
    listed = listed_sources(data_root)
    for name, record in _names(trained):
        source = _source(name, record, listed, stated)
        begun = _earlier_run(name, data_root) if source.release == "unstated" else None
        if begun is None or begun.directory.resolve() == trained.directory.resolve():
            yield source
        else:
            yield from _all_sources(begun, data_root, stated)


def refuse_other_weights(trained: TrainedModel) -> None:
    """Refuse weights that were saved over those of the run, whose sources say nothing of them.

    Raises:
        PublishError: They are others than those that the run left.
    """
    weights, expected = trained.directory / WEIGHTS, trained.run.get("weights_sha256")
    if expected is not None and content_hash(weights) != expected:  # older runs have not written it
        raise PublishError(
            f"{weights} is not what the run beside it trained (weights_sha256 in run.json), so "
            "that its recipe does not say what the model was trained on: train it again, or save "
            "the model to a folder without a run and upload it by push_to_hub"
        )


def _earlier_run(name: str, data_root: str | Path | None) -> TrainedModel | None:
    """The run in a folder that a recipe begins with, if it is still there."""
    for root in ("", data_root or ""):
        folder = Path(root) / name
        if (folder / "run.json").is_file():
            return TrainedModel.read(folder)
    return None


def checked_licence(
    sources: Sequence[SourceLicence], wanted: str | None, *, private: bool
) -> str | None:
    """The licence of the weights, if its sources allow it.

    Args:
        sources: What the model was trained on.
        wanted: The licence asked for, as the Hub names it; None for the one that follows.
        private: Whether the repository is private.

    Returns:
        The licence; None, which is no licence at all, for a private model whose sources allow none.

    Raises:
        PublishError: The sources do not allow the licence, or none to a public model.
    """
    refused = [source for source in sources if source.release not in RELEASABLE]
    if not sources:
        refused = [SourceLicence("its sources", "not on record", "unstated")]
    if refused and (wanted is not None or not private):
        first = "; ".join(f"{it.name}: {it.licence} ({it.release})" for it in refused[:3])
        more = f"; and {len(refused) - 3} more" if len(refused) > 3 else ""
        what = f"be published as {wanted}" if private else "be public"
        raise PublishError(
            f"the model may not {what}, since its sources do not allow it ({first}{more}); publish "
            "it --private without --licence, or state what you know by --source-licence "
            "NAME=LICENCE"
        )
    if refused:
        return None
    shared = [source.name for source in sources if source.release == "share-alike"]
    if wanted is not None and shared and wanted not in SHARED:
        raise PublishError(
            f"the weights may not be {wanted}: {shared[0]} is share-alike, which allows "
            f"{' or '.join(SHARED)}"
        )
    return wanted or DEFAULT


def packaged_table(name: str) -> list[str]:
    """The table of sources on the card of a packaged model, with licences and checksums."""
    lines = (packaged_folder(name) / "README.md").read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| source |"))
    return list(takewhile(lambda line: line.startswith("|"), lines[start:]))


def _names(trained: TrainedModel) -> list[tuple[str, str | None]]:
    """The sources that a recipe names, each with the name of its record, if it has one."""
    recipe = trained.recipe
    given = trained.sources
    task = (recipe.get("task") or {}).get("dataset")
    given += [{"dataset": task}] if task else []
    found: list[tuple[str, str | None]] = []
    for source in given:
        dataset = source.get("dataset")
        if dataset:
            found.append((dataset_title(dataset), dataset["name"]))
        else:
            found.append((str(source.get("path")), None))
    begun = [*trained.starts, *trained.teachers, *trained.merges]
    return list(dict.fromkeys([*found, *((name, None) for name in begun)]))


def _source(
    name: str, record: str | None, listed: Mapping[str, tuple[str, str]], stated: Mapping[str, str]
) -> SourceLicence:
    """What is known of one source; what the publisher states counts first."""
    shown = Path(name).name if Path(name).is_absolute() else name
    for key in (name, Path(name).name):
        if key in stated:
            return SourceLicence(shown, stated[key], release_class(stated[key]))
    if record in SOURCES:
        licence = SOURCES[record].licence
        return SourceLicence(shown, licence, release_class(licence))
    if name in known_models():
        return _of_packaged(name)
    for key, (licence, release) in listed.items():
        if name == key or name.endswith(f"/{key}"):
            return SourceLicence(shown, licence, release)
    return SourceLicence(shown, "not stated", "unstated")


def _packaged_alike(trained: TrainedModel) -> SourceLicence | None:
    """The packaged model with the same numbers, whose sources were checked when it was packaged."""
    if not trained.is_stock:
        return None
    rows = trained.config["vocab_size"], trained.config["hidden_size"]
    for name in packaged_names():
        other = TrainedModel.read(packaged_folder(name))
        if rows == (other.config["vocab_size"], other.config["hidden_size"]) and weights_hash(
            load_encoder(trained.directory)
        ) == weights_hash(load_encoder(packaged_folder(name))):
            return _of_packaged(name)
    return None


def _of_packaged(name: str) -> SourceLicence:
    from huggingface_hub import ModelCard

    name = "english" if name == "simile" else name
    licence = ModelCard.load(packaged_folder(name) / "README.md").data.license
    if licence is None:
        raise ModelError(f"the card of the packaged model {name} names no licence")
    return SourceLicence(PACKAGED.format(name), licence, release_class(licence), name)
