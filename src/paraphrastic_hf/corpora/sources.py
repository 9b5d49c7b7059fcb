"""Records of corpora from the YAML files in `records/`: origin, license, splits, rows."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from paraphrastic_hf.io.download import Remote

# Example: `CC BY-SA 3.0 (Wikipedia)`. A country code or a remark in brackets may follow.
CREATIVE_COMMONS = re.compile(r"CC BY[A-Z-]* \d\.\d( [A-Z]{2})?( \([^)]*\))?")

RECORDS = files("paraphrastic_hf.corpora.records")
Splits = Mapping[str, "int | None"]


@dataclass(frozen=True)
class Source:
    """Record of a corpus. `configs` has the published number of rows of each split (None if
    unknown), the default configuration first. It is empty if every pair of languages is one.
    """

    name: str
    summary: str
    configs: Mapping[str, Splits]
    row_type: str  # one of the five row types of `builder.py`
    homepage: str
    license: str
    citation: str
    section: str  # sections of the thesis and papers that use the corpus
    builder: str  # `module:Class` in `readers`
    layout: Mapping[str, Any] = field(default_factory=dict)  # of the files (`layouts.py`)
    folders: tuple[str, ...] = ()
    files: tuple[Remote, ...] = ()  # official files, downloaded if `data_dir` is None
    by_hand: str = ""  # how to get the corpus if a program cannot download it
    # indices of the `files` of a configuration, if it does not need all of them
    only: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    notes: str = ""  # reasons for differences from the published number of rows
    title: str = ""
    languages: tuple[str, ...] = ("en",)  # unused for bitext

    @property
    def may_share(self) -> bool:
        """Whether an export may be published, which requires a Creative Commons license."""
        return CREATIVE_COMMONS.fullmatch(self.license) is not None

    def remotes(self, config: str) -> list[Remote]:
        """Return the official files of a configuration, with their known checksums."""
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
    """Return SHA-256 and size in bytes of official files that never change, by corpus and path. The
    path `ARCHIVE!PATTERN` stands for the members of an archive, as in `Remote.members`.
    """
    return json.loads(RECORDS.joinpath("checksums.json").read_text(encoding="utf-8"))


def _source(name: str, record: Mapping[str, Any]) -> Source:
    given = dict(record)
    for key in ("folders", "languages"):
        if key in given:
            given[key] = tuple(given[key])
    given["files"] = tuple(Remote(**remote) for remote in given.get("files", ()))
    given["only"] = {config: tuple(chosen) for config, chosen in given.get("only", {}).items()}
    return Source(name, **given)


def read_records(file: str) -> list[Source]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    records = yaml.load(RECORDS.joinpath(f"{file}.yaml").read_text(encoding="utf-8"), loader)
    return [_source(name, record) for name, record in records.items()]


SOURCES: dict[str, Source] = {
    source.name: source
    for file in ("training", "similarity", "tasks")
    for source in read_records(file)
}
