"""Records of corpora, from the YAML files in `records/`: what a corpus is, where it comes from, its
license, how many rows it has."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from paraphrastic_hf.io.download import Remote

# Such as `CC BY-SA 3.0 (Wikipedia)`; with a country or a remark in brackets.
CREATIVE_COMMONS = re.compile(r"CC BY[A-Z-]* \d\.\d( [A-Z]{2})?( \([^)]*\))?")

Splits = Mapping[str, "int | None"]


@dataclass(frozen=True)
class Source:
    """A corpus.

    Attributes:
        name: What `load_dataset` calls it.
        summary: One sentence.
        configs: Its configurations, the default first; each a split and the number of rows
            published for it, None where no figure is published. Empty if any pair of languages
            is one.
        row_type: One of the five of `builder.py`.
        homepage: Where its authors present it.
        license: As they state it.
        citation: The paper to cite.
        section: Where the source papers use it.
        builder: `module:Class` in `paraphrastic_hf.corpora.readers`.
        folders: Names its folder may have in a folder of many corpora.
        files: Official files, for `data_dir=None`.
        by_hand: How to get it where a program cannot.
        only: For configurations that need some of the files: their numbers.
        notes: Why rows of the files at hand may differ from the published counts.
    """

    name: str
    summary: str
    configs: Mapping[str, Splits]
    row_type: str
    homepage: str
    license: str
    citation: str
    section: str
    builder: str
    folders: tuple[str, ...] = ()
    files: tuple[Remote, ...] = ()
    by_hand: str = ""
    only: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    notes: str = ""

    @property
    def may_share(self) -> bool:
        """Whether an export may be published: the whole license is a Creative Commons one."""
        return CREATIVE_COMMONS.fullmatch(self.license) is not None

    def remotes(self, config: str) -> list[Remote]:
        """The official files one configuration needs, with their checksums where known.

        Those of an archive's members stand under the archive's path, `!` and a pattern.
        """
        chosen = self.only.get(config, range(len(self.files)))
        filled = [self.files[number].filled(config) for number in chosen]
        known = checksums().get(self.name, {})
        return [replace(remote, **_recorded(known, remote.path)) for remote in filled]


def _recorded(known: Mapping[str, tuple[str, int]], path: str) -> dict[str, Any]:
    digest, size = known.get(path, (None, None))
    members = {
        place.removeprefix(f"{path}!"): (found[0], found[1])
        for place, found in known.items()
        if place.startswith(f"{path}!")
    }
    return {"sha256": digest, "size": size, "members": members}


@cache
def checksums() -> dict[str, dict[str, tuple[str, int]]]:
    """SHA-256 and bytes of official files, by corpus and place; of those that never change.

    `ARCHIVE!PATTERN` stands for the members of an archive, as in `Remote.members`.
    """
    text = (
        files("paraphrastic_hf.corpora.records")
        .joinpath("checksums.json")
        .read_text(encoding="utf-8")
    )
    return json.loads(text)


FILES = ("training", "similarity", "tasks")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _source(name: str, record: Mapping[str, Any]) -> Source:
    """The record that a file gives under a name; its lists become tuples."""
    given = dict(record)
    given["folders"] = tuple(given.get("folders", ()))
    given["files"] = tuple(Remote(**remote) for remote in given.get("files", ()))
    given["only"] = {config: tuple(chosen) for config, chosen in given.get("only", {}).items()}
    return Source(name, **given)


def read_records(file: str) -> list[Source]:
    """The records of one file.

    Example:
        >>> read_records("similarity")[0].name
        'sts'
    """
    path = files("paraphrastic_hf.corpora.records").joinpath(f"{file}.yaml")
    records = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    return [_source(name, record) for name, record in records.items()]


SOURCES: dict[str, Source] = {
    source.name: source for file in FILES for source in read_records(file)
}
