"""The card of a trained model, for every kind and family.

`run_card` is the one that `paraphrastic train` leaves: from the run's own records alone.
`model_card` is the full one of an encoder that is to be released: with the licences and checksums
of its sources, and with its scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.encoders.push import CARD
from paraphrastic_hf.encoders.storage.fingerprint import identity, is_identified
from paraphrastic_hf.encoders.storage.locate import ASSETS, holds_model, packaged_folder
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.evaluation.report import headline_table, read_results
from paraphrastic_hf.evaluation.suites.sts import YEARS
from paraphrastic_hf.hub import sections
from paraphrastic_hf.hub.licences import (
    RELEASABLE,
    SourceLicence,
    packaged_table,
    refuse_other_weights,
)
from paraphrastic_hf.hub.results import Figure, model_index
from paraphrastic_hf.hub.selection import selection
from paraphrastic_hf.hub.source_lists import listed_sources
from paraphrastic_hf.hub.trained import TrainedModel
from paraphrastic_hf.io.files import content_hash, write_bytes
from paraphrastic_hf.io.markdown import code, literal, markdown_table

CITATION = "Please cite the thesis (Wieting, CMU 2020) and the sources above."
PACKAGED = """from paraphrastic_hf import SentenceEncoder, packaged_model

encoder = SentenceEncoder.from_pretrained("{name}")
encoder.similarity(["a cat sleeps"], ["a cat is asleep"])

from sentence_transformers import SentenceTransformer  # stock classes; needs nothing of ours

# float: its file has float16, in which a text of 65,520 tokens or more becomes zeros or NaN
SentenceTransformer(str(packaged_model("{name}"))).float().encode(["a cat sleeps"])"""


def run_card(directory: str | Path, *, run: Mapping[str, Any] | None = None) -> str:
    """The card of any model that `paraphrastic train` made, from `recipe.yaml` and `run.json`.

    It says what was trained on what, by which settings, and what the run measured. The licence of a
    source is that of this package's record of a corpus, else "not stated".

    Args:
        directory: The model.
        run: What `run.json` is going to hold, of a run that has not written it yet.

    Raises:
        ModelError: The folder holds no finished run.

    Example:
        >>> print(run_card("runs/mine"))  # doctest: +SKIP
    """
    trained = TrainedModel.read(directory, run=run)
    training = [f"    {sections.command(trained)}", ""]
    training += [*sections.wrapped(sections.circumstances(trained)), ""]
    training += [*sections.wrapped(selection(trained)), ""]
    training += sections.sources(trained)
    licence = "Not stated: what its sources allow decides. " + CITATION
    return _page(
        trained,
        front=sections.front_matter(trained),
        title=trained.name,
        about=sections.about(trained),
        use=sections.use(trained),
        training=training,
        scores=sections.scores(trained),
        licence=licence,
    )


def model_card(
    directory: str | Path,
    *,
    data_root: str | Path,
    evaluation: str | Path,
    command: str,
    summary: str,
    languages: Sequence[str] = (),
    licence: str = "cc-by-sa-4.0",
) -> str:
    """The full card of an encoder that `paraphrastic train` made, from what lies in its folder.

    Args:
        directory: The model.
        data_root: Folder its sources are in, which lists them in `train/SOURCES.tsv` and the like.
        evaluation: Folder that `paraphrastic evaluate --output` wrote.
        command: The command that trained it.
        summary: One or two sentences.
        languages: Codes of its languages; if there are none, those of its recipe, else English.
        licence: Of the weights, as the Hub names it.

    Raises:
        DataError: There is no source on record, one is not in `SOURCES.tsv`, its class does not
            allow a release, or the evaluation is another model's.
        ModelError: The folder holds no finished training run, or none of an encoder.
        PublishError: Its weights are not those that its run left.
    """
    directory = Path(directory)
    trained = TrainedModel.read(directory)
    refuse_other_weights(trained)
    if not trained.is_encoder:
        what = f"of {trained.task}" if trained.task else "that embeds no sentences"
        raise ModelError(
            f"{directory} holds a model {what}; full cards are those of encoders, and "
            "`paraphrastic train` has left it one from its run"
        )
    encoder = load_encoder(directory)
    suites = read_results(evaluation)
    for results in suites:
        if not is_identified(encoder, results["settings"]):
            raise DataError(
                f"{evaluation} holds scores on {results['suite']} of another model than that in "
                f"{directory}: evaluate this model, as it is, without --latent, --dimension or "
                "--precision"
            )
    table, is_shared = _released_sources(trained, Path(data_root))
    languages = list(languages) or trained.languages or ["en"]
    training = [f"    {command}", "", *sections.wrapped(sections.circumstances(trained)), ""]
    training += [*sections.wrapped(selection(trained)), "", *table]
    packaged = _is_packaged(trained.name, encoder)
    reason = ": some sources are share-alike" if is_shared else ""
    return _page(
        trained,
        front=sections.front_matter(trained, languages=languages, licence=licence),
        title=f"paraphrastic {trained.name}",
        about=f"{summary} {literal(sections.about(trained))}",
        use=PACKAGED.format(name=trained.name) if packaged else sections.use(trained),
        training=training,
        scores=[line for results in suites for line in [*_scores(results), ""]][:-1],
        licence=f"{licence.upper()}{reason}. {CITATION}",
    )


def release_card(
    directory: str | Path,
    repository: str,
    *,
    sources: Sequence[SourceLicence],
    licence: str | None,
    found: Sequence[Figure] = (),
    suites: Sequence[Mapping[str, Any]] = (),
    summary: str = "",
    languages: Sequence[str] = (),
    base_model: Sequence[str] = (),
    datasets: Sequence[str] = (),
) -> str:
    """The card of any trained model in a repository of the Hub, from its run and its scores.

    Args:
        directory: The model.
        repository: Where it is going to be, as its code names it.
        sources: What it was trained on, with licences.
        licence: Of the weights, as the Hub names it; None if there is none.
        found: The figures of `model-index`.
        suites: Results of `paraphrastic evaluate`, whose tables and plots the card shows.
        summary: One or two sentences that come first.
        languages: Codes of its languages; those of its recipe if there are none.
        base_model: Hub names of the models that it began with.
        datasets: Hub names of what it was trained on.

    Raises:
        ModelError: The folder holds no finished run.
    """
    trained = TrainedModel.read(directory)
    name = repository.rpartition("/")[2]
    training = [f"    {sections.command(trained)}", ""]
    training += [*sections.wrapped(sections.circumstances(trained)), ""]
    training += [*sections.wrapped(selection(trained)), ""]
    training += _sources_with_licences(trained, sources)
    scores = [] if suites else sections.scores(trained)
    for results in suites:
        suite = results["suite"]
        scores += [*_scores(results), "", f"![{literal(suite)}]({suite}.png)", ""]
    said = f"{licence.upper()}, as the sources above allow" if licence else "None is given"
    return _page(
        trained,
        front=sections.front_matter(
            trained,
            languages=languages,
            licence=licence,
            base_model=list(base_model) or None,
            datasets=list(datasets) or None,
            **({"model_name": name, "eval_results": model_index(found)} if found else {}),
        ),
        title=name,
        about=f"{summary} {literal(sections.about(trained))}".lstrip(),
        use=sections.use(trained, repository),
        training=training,
        scores=scores,
        licence=f"{said}. {CITATION}",
    )


def _sources_with_licences(trained: TrainedModel, sources: Sequence[SourceLicence]) -> list[str]:
    """The table of what a model was trained on, and what it began with where that is no row."""
    if len(sources) == 1 and sources[0].packaged:
        return packaged_table(sources[0].packaged)
    known = {source.name: source.licence for source in sources}
    table = sections.sources(trained, known)
    begun = [it for it in sources if not any(literal(it.name) in line for line in table)]
    said = "; ".join(f"{literal(it.name)} ({literal(it.licence)})" for it in begun)
    return (
        [*table, "", *sections.wrapped(f"What it began with or learned from: {said}.")]
        if begun
        else table
    )


def write_card(directory: str | Path, text: str) -> None:
    """Write the card as the folder's README."""
    write_bytes(Path(directory) / CARD, text.encode("utf-8"))


def _page(
    trained: TrainedModel,
    *,
    front: str,
    title: str,
    about: str,
    use: str,
    training: list[str],
    scores: list[str],
    licence: str,
) -> str:
    curve = sections.picture(trained)
    return f"{front}\n\n# {literal(title)}\n\n" + sections.page(
        [
            ("", sections.wrapped(about)),
            ("Use", ["```python", *use.splitlines(), "```"]),
            ("Training", [*training, *(["", *curve] if curve else [])]),
            ("Scores", scores),
            ("Licence", sections.wrapped(licence)),
            ("Limits", sections.wrapped(sections.limits(trained))),
        ]
    )


def _released_sources(trained: TrainedModel, root: Path) -> tuple[list[str], bool]:
    """The table of sources with licences and checksums, and whether one is share-alike.

    Raises:
        DataError: A source may not be released, or is none of `SOURCES.tsv`.
    """
    known = listed_sources(root)
    names = [str(source.get("path") or source.get("dataset")) for source in trained.sources]
    what, given = trained.counts or ("pairs", dict.fromkeys(names))
    counts = {_within(root, path): count for path, count in given.items()}
    if not counts:
        raise DataError(
            f"{trained.directory} has no source on record, so what its model may be released as is "
            "not known: train it on files that a recipe names"
        )
    rows = []
    for path, pairs in counts.items():
        if path not in known:
            raise DataError(
                f"no SOURCES.tsv in a folder of {root} lists {path}, so its licence is not known: "
                "give the data that it is in, or list it"
            )
        licence, release = known[path]
        if release not in RELEASABLE:
            raise DataError(
                f"{path} is no source that a released model may be trained on: its licence is "
                f"{licence} ({release})"
            )
        shown = "not counted" if pairs is None else f"{pairs:,}"
        rows.append([path, shown, licence, code(content_hash(root / path))])
    is_shared = any(known[path][1] == "share-alike" for path in counts)
    columns = ["source", what, "licence", "SHA-256 of the file"]
    return markdown_table(columns, rows, "lrll"), is_shared


def _within(root: Path, path: str) -> str:
    """A source by its place under the data root, however it was named."""
    is_inside = Path(path).is_absolute() and Path(path).is_relative_to(root.resolve())
    return Path(path).relative_to(root.resolve()).as_posix() if is_inside else path


def _is_packaged(name: str, encoder: Any) -> bool:
    return holds_model(ASSETS / name) and is_identified(
        encoder, identity(load_encoder(packaged_folder(name)))
    )


def _scores(results: Mapping[str, Any]) -> list[str]:
    lines = [f"### {literal(results['suite'])}", "", *headline_table(dict(results))]
    if results["suite"] == "sts":  # the tracks and splits that no year holds
        rows = [
            [f"{row['group']} {row['name']}"]
            + [f"{row['scores'][measure]:.1f}" for measure in ("pearson", "spearman")]
            for row in results["rows"]
            if row["group"] not in YEARS
        ]
        lines += ["", *markdown_table(["set", "Pearson", "Spearman"], rows)]
    return lines
