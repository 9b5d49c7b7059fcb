import sys
from importlib.util import find_spec
from types import ModuleType

import numpy as np
import pytest

from paraphrastic_hf import LanguageScorer, train
from paraphrastic_hf.config.packaged_recipes import find_recipe
from paraphrastic_hf.errors import MissingExtraError, ModelError
from paraphrastic_hf.pipelines.steps.registry import make_step
from paraphrastic_hf.training.kinds import load_recipe
from tests.corpora.test_made_tasks import pairs, write


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reference-averaging", "reference-lstm"])
def test_a_trained_classifier_is_a_step(name, tmp_path):
    corpus = write(tmp_path / "pairs.tsv", pairs(300))
    small = ["--data_dir", str(corpus), "--hidden_size", "16", "--epochs", "8"]
    small += ["--batch_size", "20", "--task.dataset.options", "{train_rows: 400, test_rows: 80}"]
    small += ["--vocab_size", "400", "--learning_rate", "0.05"]
    train(load_recipe(find_recipe(name), small), tmp_path / "run")
    rows = [{"translation": a, "reference": b} for a, b in pairs(20)]

    def score(rows, **options):
        return make_step("reference", {"model": str(tmp_path / "run"), **options}).score(rows)

    assert min(score(rows, at_least=0.5)) > 0.8
    assert max(score(rows, of="reference")) < 0.2
    assert score([]) == []
    with pytest.raises(ModelError):
        score(rows, label="human")


@pytest.mark.slow
def test_cross_entropy_is_the_log_perplexity(tmp_path):
    write(tmp_path / "pairs.tsv", [(a, a) for a, _ in pairs(100)])
    small = ["--sources", str(tmp_path / "pairs.tsv"), "--epochs", "1"]
    recipe = load_recipe(find_recipe("language-model/smoke"), small)
    train(recipe, tmp_path / "run")
    step = make_step("cross_entropy", {"model": str(tmp_path / "run")})
    texts = ["well river stone", "stone", ""]
    found = step.score([{"translation": text} for text in texts])
    perplexity = LanguageScorer.from_pretrained(tmp_path / "run").score(texts).perplexity
    np.testing.assert_allclose(np.exp(found[:2]), perplexity[:2], rtol=1e-5)
    assert found[2] is None


class Model:
    """Replacement of `kenlm.Model`: every word has probability 1/10."""

    def __init__(self, path):
        if path == "damaged.arpa":
            raise OSError("no file")

    def score(self, text, bos, eos):
        assert bos
        assert eos
        return -float(len(text.encode().split(b" ")) + 1)


def test_kenlm_models_are_recognized_by_suffix(monkeypatch):
    kenlm = ModuleType("kenlm")
    kenlm.Model = Model
    monkeypatch.setitem(sys.modules, "kenlm", kenlm)
    step = make_step("cross_entropy", {"model": "x.arpa", "column": "trigrams"})
    assert step.name == "trigrams"
    texts = ["a b", " ", "a\u00a0b\tc", "a \ud800"]
    found = step.score([{"translation": text} for text in texts])
    ten = pytest.approx(2.302585)
    assert found == [ten, None, ten, ten]
    with pytest.raises(ModelError):
        make_step("cross_entropy", {"model": "damaged.arpa"}).score([{"translation": "a"}])


@pytest.mark.skipif(find_spec("kenlm") is not None, reason="kenlm is installed")
def test_a_missing_kenlm_mentions_the_extra():
    with pytest.raises(MissingExtraError):
        make_step("cross_entropy", {"model": "x.klm"}).score([{"translation": "a"}])
