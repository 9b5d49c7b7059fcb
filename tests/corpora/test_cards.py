"""Dataset cards. After changing a record: `python -m tests.corpora.test_cards`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paraphrastic_hf.corpora.card import dataset_card
from paraphrastic_hf.corpora.sources import SOURCES, Source

CARDS = Path(__file__).parents[2] / "hub_cards" / "datasets"
RECORDS = list(SOURCES.values())


@pytest.mark.parametrize("source", RECORDS, ids=lambda source: source.name)
def test_cards_equal_their_records(source: Source) -> None:
    written = (CARDS / f"{source.name}.md").read_text(encoding="utf-8")
    assert written == dataset_card(source, source.configs, has_files=False)


def test_every_card_has_a_record() -> None:
    assert {path.stem for path in CARDS.glob("*.md")} == {source.name for source in RECORDS}


@pytest.mark.parametrize("source", RECORDS, ids=lambda source: source.name)
def test_records_are_complete(source: Source) -> None:
    assert source.summary.endswith((".", ".)", "?"))
    assert source.files or source.by_hand
    assert set(source.only) <= set(source.configs)
    assert all(0 <= n < len(source.files) for numbers in source.only.values() for n in numbers)
    for config in source.configs or ["en-fr"]:
        for remote in source.remotes(config):
            assert "{" not in remote.path + remote.url
            assert remote.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", remote.sha256)


def main() -> None:
    CARDS.mkdir(parents=True, exist_ok=True)
    for source in RECORDS:
        card = dataset_card(source, source.configs, has_files=False)
        (CARDS / f"{source.name}.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    main()
