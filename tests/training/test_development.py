"""The score that picks a checkpoint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from paraphrastic_hf.errors import DataError, MissingFileError, RecipeError
from paraphrastic_hf.models.averaging import AveragingConfig, AveragingModel
from paraphrastic_hf.text.word import WordTokenizer
from paraphrastic_hf.training.development import development_scorer, read_development
from tests.evaluation.sts_files import write_lines

# In the plane, in degrees from `cat`; the second set orders its three pairs the other way round.
DEGREES = {"cat": 0, "feline": 10, "dog": 40, "stone": 80}
SIMILAR = ["cat\tfeline\t9", "cat\tdog\t5", "cat\tstone\t1"]
RELATED = ["cat\tfeline\t1", "cat\tdog\t5", "cat\tstone\t9"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root with the two parts of WordSim-353."""
    folder = tmp_path / "eval" / "wordsim" / "mfaruqui_eval-word-vectors"
    write_lines(folder / "EN-WS-353-SIM.txt", SIMILAR)
    write_lines(folder / "EN-WS-353-REL.txt", RELATED)
    return tmp_path


def model() -> tuple[AveragingModel, WordTokenizer]:
    encoder = AveragingModel(AveragingConfig(vocab_size=6, hidden_size=2)).eval()
    angle = torch.deg2rad(torch.tensor(list(DEGREES.values()), dtype=torch.float32))
    with torch.no_grad():
        encoder.embedding.weight[2:] = torch.stack([angle.cos(), angle.sin()], 1)
    return encoder, WordTokenizer(list(DEGREES))


def test_similar_words_count_twice_and_related_ones_against(root: Path) -> None:
    """rho is 1 on the first and -1 on the second: 2 x 100 + 100."""
    encoder, tokenizer = model()
    score = development_scorer("ws353-tuning", tokenizer, read_development("ws353-tuning", root))
    assert score is not None
    assert score(encoder) == pytest.approx(300)


def test_no_development_set_is_no_score() -> None:
    assert development_scorer("none", model()[1], read_development("none", None)) is None


def test_a_missing_folder_or_root_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"EN-WS-353-SIM\.txt is not in .*; or train .* none"):
        read_development("ws353-tuning", tmp_path)
    write_lines(tmp_path / "eval" / "stsbenchmark" / "sts-dev.csv", ["g\tf\t2012\t1\t5\ta\tb"])
    with pytest.raises(MissingFileError, match=r"SICK_trial.txt is not in .*--development none"):
        read_development("clean", tmp_path)
    monkeypatch.delenv("PARAPHRASTIC_DATA", raising=False)
    with pytest.raises(RecipeError, match="--data"):
        read_development("ws353-tuning", None)


def test_the_clean_set_is_the_mean_of_its_three_whatever_their_sizes(tmp_path: Path) -> None:
    """r is 1 on the first set, -1 on the second, and that of three cosines on the last."""
    down = ["cat\tfeline\t1", "cat\tstone\t5"]
    folder = tmp_path / "eval"
    benchmark = ["g\tf\t2012\t1\t5\tcat\tfeline", "g\tf\t2012\t2\t1\tcat\tstone"]
    write_lines(folder / "stsbenchmark" / "sts-dev.csv", benchmark)
    sick = [f"1\t{line}\tNEUTRAL" for line in down]
    write_lines(folder / "sick2014" / "SICK_trial.txt", ["pair_ID\tA\tB\tscore\tlabel", *sick])
    phrases = [line.replace("\t", "|||") for line in down]
    write_lines(folder / "ppdb_annotated" / "ppdb_dev.txt", [*phrases, "stone|||dog|||3"])
    pairs = read_development("clean", tmp_path)
    assert pairs is not None
    assert [len(each) for each in pairs] == [2, 2, 3]
    encoder, tokenizer = model()
    score = development_scorer("clean", tokenizer, pairs)
    assert score is not None
    assert score(encoder) == pytest.approx(100 / 3 * (1 - 1 + pearson_of_three()), abs=0.01)


def pearson_of_three() -> float:
    """Of the cosines of 10, 80 and 40 degrees with 1, 5 and 3."""
    cosines = np.cos(np.deg2rad([10, 80, 40]))
    return float(np.corrcoef(cosines, [1, 5, 3])[0, 1])
