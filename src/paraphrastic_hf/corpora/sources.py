"""All records of corpora by name, from the YAML files in `records/`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import yaml

from paraphrastic_hf.corpora.source import Source
from paraphrastic_hf.io.download import Remote

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
