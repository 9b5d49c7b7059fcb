"""The types of what a file of results holds, as `huggingface_hub` checks them: it reads types, not
the strings that `from __future__ import annotations` would leave of them."""

from typing import Any, NotRequired, Required, TypedDict

from huggingface_hub.dataclasses import validate_typed_dict

Number = int | float


class DatasetResults(TypedDict):
    """The scores of one dataset."""

    group: Required[str]
    name: Required[str]
    size: Required[int]
    scores: Required[dict[str, Number]]


class Settings(TypedDict):
    """What the model was, of which reports show the hash of its numbers."""

    weights: Required[str | None]


class SuiteResults(TypedDict):
    """One suite."""

    model: Required[str]
    suite: Required[str]
    summary: Required[str]
    unit: Required[str]
    headline: Required[dict[str, Number]]
    papers: Required[dict[str, dict[str, Number]]]
    notes: Required[list[str]]
    skipped: Required[dict[str, str]]
    not_applicable: NotRequired[dict[str, str]]
    rows: Required[list[dict[str, Any]]]
    settings: Required[dict[str, Any]]
    seconds: Required[Number]
    peak_memory: Required[Number | None]


def check_results(results: dict[str, Any]) -> None:
    """Refuse results that lack something a report reads, or have it in another type."""
    _check(results, SuiteResults)
    _check(results["settings"], Settings)
    for row in results["rows"]:
        _check(row, DatasetResults)


def _check(values: dict[str, Any], schema: Any) -> None:
    known = schema.__annotations__
    validate_typed_dict(schema, {key: value for key, value in values.items() if key in known})
