from __future__ import annotations

from pathlib import Path

import pytest

from paraphrastic_hf.corpora import counts
from paraphrastic_hf.corpora.counts import RowCount, count_corpora
from paraphrastic_hf.corpora.sources import SOURCES

pytestmark = pytest.mark.slow

# (corpus, configuration, split): rows read, and why they differ from the published number.
EXCEPTIONS = {
    ("probing", "sentence_length", "validation"): (4_998, "X-Probe's remake, not SentEval's"),
    ("probing", "sentence_length", "test"): (4_998, "X-Probe's remake, not SentEval's"),
}
# No figure is published for some of these; `hard_sts` is counted in test_hard_sts.py.
WITHOUT_A_FIGURE = {"tatoeba": 40, "ppdb_synonyms": 1}
TATOEBA_ROWS = 88_877


@pytest.fixture(scope="module")
def found(data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[RowCount]:
    """Counts of every corpus except Hard STS, which is slow."""
    sources = {name: source for name, source in SOURCES.items() if name != "hard_sts"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PARAPHRASTIC_CACHE", str(tmp_path_factory.mktemp("unpacked")))
        patch.setattr(counts, "SOURCES", sources)
        return count_corpora(data)


def test_every_corpus_holds_its_published_rows(found: list[RowCount]) -> None:
    differences = {
        (count.corpus, count.config, count.split): count.read
        for count in found
        if count.published is not None and count.read != count.published
    }
    assert differences == {place: read for place, (read, _) in EXCEPTIONS.items()}


def test_expected_corpora_lack_published_counts(found: list[RowCount]) -> None:
    without = [count.corpus for count in found if count.published is None]
    assert {name: without.count(name) for name in without} == WITHOUT_A_FIGURE


def test_tatoeba_has_all_rows_of_its_files(found: list[RowCount]) -> None:
    read = [count.read for count in found if count.corpus == "tatoeba"]
    assert (len(read), sum(read)) == (112, TATOEBA_ROWS)


def test_every_available_folder_is_read(found: list[RowCount], data: Path) -> None:
    at_hand = {
        name
        for name, source in SOURCES.items()
        if any((data / folder).exists() for folder in source.folders)
    }
    assert {count.corpus for count in found} == at_hand - {"hard_sts"}
    assert len(at_hand) > 20
