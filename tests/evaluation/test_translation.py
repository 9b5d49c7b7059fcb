import numpy as np
import pytest
from scipy import stats

from paraphrastic_hf import SentenceEncoder, SimileScorer, evaluate
from paraphrastic_hf.corpora.load import find_source
from paraphrastic_hf.corpora.readers.sts_files import read_sts_year
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.evaluation.report import write_report
from paraphrastic_hf.evaluation.suites.sts import YEARS
from paraphrastic_hf.evaluation.suites.translation import MEANS, SUFFIXES, correlations
from paraphrastic_hf.metrics import matching
from tests.evaluation.made_pairs import Letters, row_of
from tests.made import averaging
from tests.texts import SENTENCES

CONFIGS = list(find_source("wmt_da").configs)
ROWS = 12


def made_rows(number):
    """Return rows of human score, reference and output."""
    generator = np.random.default_rng(number)
    first, second = generator.integers(len(SENTENCES), size=(2, ROWS))
    scores = generator.normal(size=ROWS).round(3)
    return [
        (float(score), SENTENCES[a], SENTENCES[b])
        for score, a, b in zip(scores, first, second, strict=True)
    ]


@pytest.fixture
def folder(tmp_path):
    """An `eval` folder with tiny tables of all language pairs."""
    place = tmp_path / "eval" / "wmt_da"
    place.mkdir(parents=True)
    for number, config in enumerate(CONFIGS):
        lines = ["\t".join(map(str, row)) for row in made_rows(number)]
        (place / f"{config}.tsv").write_text("\n".join(lines) + "\n")
    return tmp_path / "eval"


@pytest.fixture
def encoder(subword):
    return averaging(subword)


def no_meteor():
    raise LookupError("wordnet")


def ratio():
    return lambda output, references: len(output) / len(references[0])


@pytest.fixture(autouse=True)
def _no_wordnet(monkeypatch):
    """Replace METEOR, which needs nltk's data."""
    monkeypatch.setitem(matching.MATCHING, "METEOR", no_meteor)


def lengths(outputs, references):
    return {"length": np.array([float(len(text)) for text in outputs])}


def test_correlations_are_spearmans_rho_by_language_pair(folder):
    rows = list(correlations(lengths, folder))
    assert [f"{row.group}.{row.name}" for row in rows] == CONFIGS
    for number, row in enumerate(rows):
        human, _, outputs = zip(*made_rows(number), strict=True)
        expected = 100 * stats.spearmanr([len(text) for text in outputs], human).statistic
        assert row.scores["length"] == pytest.approx(expected)
        assert row.size == ROWS


def test_semantic_scores_equal_the_scorers_and_are_averaged_by_year(folder, encoder, tmp_path):
    results = evaluate(encoder, "wmt-da", folder)
    for number, row in enumerate(results["rows"]):
        human, references, outputs = zip(*made_rows(number), strict=True)
        scores = SimileScorer(encoder).score(outputs, references)
        for name, values in (("SIM", scores.sim), ("SimiLE", scores.simile)):
            expected = 100 * stats.spearmanr(values, human).statistic
            assert row["scores"][name] == pytest.approx(expected)
    for year in ("2015", "2016"):
        rows = [row for row in results["rows"] if row["group"] == f"newstest{year}"]
        assert len(rows) == 4
        expected = np.mean([row["scores"]["SimiLE"] for row in rows])
        assert results["headline"][f"SimiLE {year}"] == pytest.approx(expected)
    alone = evaluate(Letters(), "wmt-da", folder)["headline"]  # has no tokenizer
    assert "SIM 2015" in alone
    assert not any(name.startswith("SimiLE") for name in alone)
    (tmp_path / "absent").mkdir()
    with pytest.raises(DataError):
        evaluate(Letters(), "wmt-da", tmp_path / "absent")


def test_metrics_without_library_or_data_are_skipped(folder, encoder, tmp_path, monkeypatch):
    def no_sacrebleu(progress=False):
        raise ImportError("no", name="sacrebleu")

    monkeypatch.setitem(matching.MATCHING, "BLEU", no_sacrebleu)
    results = evaluate(encoder, "wmt-da", folder)
    assert set(results["skipped"]) == {"BLEU", "METEOR"}
    assert "WordNet" in results["skipped"]["METEOR"]
    assert "sacrebleu" in results["skipped"]["BLEU"]
    assert {"SIM 2015", "chrF 2016"} <= set(results["headline"])
    assert not any(name.startswith(("BLEU", "METEOR")) for name in results["headline"])
    text = write_report(results, tmp_path / "report")[1].read_text()
    assert "WordNet" in text
    assert "58.4" in text


@pytest.mark.slow
def test_the_default_model_on_the_official_files(official):
    results = evaluate(SentenceEncoder.from_pretrained("simile"), "wmt-da", official)
    assert [row["size"] for row in results["rows"]] == [500] * 4 + [560] * 4
    assert results["headline"]["SimiLE 2015"] >= 54.6
    assert results["headline"]["SimiLE 2016"] >= 48.5
    assert results["headline"]["SimiLE by strict windows 2016"] >= 58.5
    assert results["headline"]["BLEU 2015"] == pytest.approx(48.3, abs=0.1)
    assert results["headline"]["chrF 2016"] == pytest.approx(50.7, abs=0.1)


def test_the_first_sentence_is_the_reference_of_each_metric(sts_folder, monkeypatch):
    monkeypatch.setitem(matching.MATCHING, "METEOR", ratio)
    encoder = SentenceEncoder.from_pretrained("simile")
    results = evaluate(encoder, "sts-metrics", sts_folder)
    pairs = read_sts_year(sts_folder, "2012")[0]
    row = row_of(results, "2012", pairs.name)
    there = np.array([len(b) / len(a) for a, b in zip(pairs.first, pairs.second, strict=True)])
    expected = {"METEOR": there, "METEOR symmetric": (there + 1 / there) / 2}
    for similarity, suffix in SUFFIXES.items():
        scorer = SimileScorer(encoder, similarity=similarity)
        scores = scorer.score(list(pairs.second), list(pairs.first))
        expected |= {f"SIM{suffix}": scores.sim, f"SimiLE{suffix}": scores.simile}
    for name, values in expected.items():
        correlation = 100 * stats.pearsonr(values, pairs.scores).statistic
        assert row["scores"][name] == pytest.approx(correlation)
    means = [row_of(results, MEANS, year)["scores"]["chrF"] for year in YEARS]
    for year, mean in zip(YEARS, means, strict=True):
        of_year = [row["scores"]["chrF"] for row in results["rows"] if row["group"] == year]
        assert mean == pytest.approx(np.mean(of_year))
    assert results["headline"]["chrF"] == pytest.approx(np.mean(means))
    assert results["headline"]["chrF symmetric"] != results["headline"]["chrF"]
