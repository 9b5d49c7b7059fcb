from collections import Counter

import pytest

from paraphrastic_hf.corpora import statistics
from paraphrastic_hf.corpora.sources import SOURCES
from paraphrastic_hf.corpora.statistics import count_corpora

pytestmark = pytest.mark.slow

# (corpus, configuration, split): rows read, and why they differ from the published number.
EXCEPTIONS = {
    ("probing", "sentence_length", "validation"): (4_998, "X-Probe's remake, not SentEval's"),
    ("probing", "sentence_length", "test"): (4_998, "X-Probe's remake, not SentEval's"),
}
# No figure is published for some of these; `hard_sts` is counted in test_hard_sts.py.
WITHOUT_A_FIGURE = {"tatoeba": 40, "ppdb_synonyms": 1}


@pytest.fixture(scope="module")
def found(data, tmp_path_factory):
    """Counts of every corpus except Hard STS, which is slow."""
    sources = {name: source for name, source in SOURCES.items() if name != "hard_sts"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PARAPHRASTIC_CACHE", str(tmp_path_factory.mktemp("unpacked")))
        patch.setattr(statistics, "SOURCES", sources)
        return count_corpora(data)


def test_every_corpus_holds_its_published_rows(found):
    differences = {
        (count.corpus, count.config, count.split): count.read
        for count in found
        if count.published is not None and count.read != count.published
    }
    assert differences == {place: read for place, (read, _) in EXCEPTIONS.items()}


def test_only_expected_corpora_lack_published_counts(found):
    assert Counter(each.corpus for each in found if each.published is None) == WITHOUT_A_FIGURE
    read = [count.read for count in found if count.corpus == "tatoeba"]
    assert (len(read), sum(read)) == (112, 88_877)


def test_every_available_folder_is_read(found, data):
    at_hand = {
        name
        for name, source in SOURCES.items()
        if any((data / folder).exists() for folder in source.folders)
    }
    assert {count.corpus for count in found} == at_hand - {"hard_sts"}
    assert len(at_hand) > 20
