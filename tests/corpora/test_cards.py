"""Dataset cards. After changing a record: `python -m tests.corpora.test_cards`."""

import re
from pathlib import Path

import pytest
from huggingface_hub import DatasetCard

from paraphrastic_hf.corpora.card import dataset_card
from paraphrastic_hf.corpora.sources import SOURCES

CARDS = Path(__file__).parents[2] / "hub_cards" / "datasets"
RECORDS = list(SOURCES.values())


def test_cards_equal_their_records():
    cards = {path.stem: path.read_text(encoding="utf-8") for path in CARDS.glob("*.md")}
    assert cards == {each.name: dataset_card(each, each.configs) for each in RECORDS}


@pytest.mark.parametrize(
    ("name", "counts", "languages", "size"),
    [
        ("sick", {"default": {"train": 1000}}, ["en"], ["1K<n<10K"]),
        ("sts17", {"ar-en": {"test": 250}}, ["ar", "en", "es", "tr"], ["n<1K"]),
        ("europarl", {"en-fr": {"train": 10**6}}, ["en", "fr"], ["1M<n<10M"]),
        ("europarl", {}, ["multilingual"], None),
        ("tatoeba", {"deu": {"test": None}}, ["deu", "en"], None),
    ],
)
def test_front_matter(name, counts, languages, size):
    source = SOURCES[name]
    data = DatasetCard(dataset_card(source, counts)).data
    assert data.pretty_name == source.title
    assert data.language == languages
    assert data.size_categories == size
    assert [each["config_name"] for each in data.get("configs") or []] == [*counts]


@pytest.mark.parametrize("source", RECORDS, ids=lambda source: source.name)
def test_records_are_complete(source):
    assert source.title
    assert source.summary.endswith((".", ".)", "?"))
    assert source.files or source.by_hand
    assert set(source.only) <= set(source.configs)
    assert all(0 <= n < len(source.files) for numbers in source.only.values() for n in numbers)
    for config in source.configs or ["en-fr"]:
        for remote in source.remotes(config):
            assert "{" not in remote.path + remote.url
            assert remote.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", remote.sha256)


def main():
    CARDS.mkdir(parents=True, exist_ok=True)
    for source in RECORDS:
        card = dataset_card(source, source.configs)
        (CARDS / f"{source.name}.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    main()
