"""Types of the values in a results file, which `huggingface_hub` validates. Types as strings would
fail, so do not import `annotations` from `__future__` here."""

from typing import Any, NotRequired, Required, TypedDict

from huggingface_hub.dataclasses import validate_typed_dict

Number = int | float


class DatasetResults(TypedDict):
    group: Required[str]
    name: Required[str]
    size: Required[int]
    scores: Required[dict[str, Number]]


class Settings(TypedDict):
    """Settings of a run. Reports need only the hash of the model's weights."""

    weights: Required[str | None]


class SuiteResults(TypedDict):
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


def check_results(results: dict[str, Any]) -> None:
    """Raise an error if results lack a key that reports need, or a value has a wrong type."""
    _check(results, SuiteResults)
    _check(results["settings"], Settings)
    for row in results["rows"]:
        _check(row, DatasetResults)


def _check(values: dict[str, Any], schema: Any) -> None:
    known = schema.__annotations__
    validate_typed_dict(schema, {key: value for key, value in values.items() if key in known})
