"""Development scores."""

import numpy as np
import pytest
import torch

from paraphrastic_hf import SentenceEncoder, evaluate_pairs
from paraphrastic_hf.errors import DataError, MissingFileError, RecipeError
from paraphrastic_hf.evaluation.measures.judged import Ranked
from paraphrastic_hf.metrics.resampling import p_value
from paraphrastic_hf.models.encoders.averaging import AveragingConfig, AveragingModel
from paraphrastic_hf.text.word import WordTokenizer
from paraphrastic_hf.training.data.development import development_scorer, read_development
from paraphrastic_hf.training.engine.loop import Evaluation
from tests.evaluation.sts_files import PAIRS, write_lines
from tests.training.runs import card, recipe_of, record, train, trained

# Angles of word vectors in degrees. The two sets order their three pairs in opposite ways.
DEGREES = {"cat": 0, "feline": 10, "dog": 40, "stone": 80}
SIMILAR = ["cat\tfeline\t9", "cat\tdog\t5", "cat\tstone\t1"]
RELATED = ["cat\tfeline\t1", "cat\tdog\t5", "cat\tstone\t9"]


@pytest.fixture
def root(tmp_path):
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


def test_ws353_tuning_by_hand(root):
    """rho is 1 on the first set and -1 on the second: 2 x 100 + 100."""
    encoder, tokenizer = model()
    score = development_scorer("ws353-tuning", tokenizer, read_development("ws353-tuning", root))
    assert score is not None
    assert score(encoder) == pytest.approx(300)


def test_a_missing_folder_or_root_is_refused(tmp_path, monkeypatch):
    write_lines(tmp_path / "eval" / "stsbenchmark" / "sts-dev.csv", ["g\tf\t2012\t1\t5\ta\tb"])
    monkeypatch.delenv("PARAPHRASTIC_DATA", raising=False)
    for name, folder, error in (
        ("ws353-tuning", tmp_path, DataError),
        ("clean", tmp_path, MissingFileError),
        ("ws353-tuning", None, RecipeError),
    ):
        with pytest.raises(error):
            read_development(name, folder)


def test_the_clean_score_is_the_unweighted_mean_of_three_sets(tmp_path):
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
    last = np.corrcoef(np.cos(np.deg2rad([10, 80, 40])), [1, 5, 3])[0, 1]
    assert score(encoder) == pytest.approx(100 / 3 * (1 - 1 + last), abs=0.01)


RECIPE = f"""
data: {{sources: [{PAIRS}]}}
tokenizer: {{kind: word, vocab_size: 200}}
model: {{hidden_size: 16}}
training: {{epochs: 4, batch_size: 8, mega_batch: 1, learning_rate: 0.05}}
"""


@pytest.mark.parametrize("values", [["5", "4", "1"], ["1", "1", "0"], []])
def test_a_file_of_pairs_selects_the_checkpoint(values, tmp_path):
    pairs = [line.split("\t") for line in PAIRS.read_text(encoding="utf-8").splitlines()][:12]
    path = tmp_path / "dev.tsv"
    rows = [
        (a, pairs[n + 1 - n % 3][1], *values[2 * (n % 3 == 0) : 2 * (n % 3 == 0) + 1])
        for n, (a, _) in enumerate(pairs[:-1])
    ]
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    output = trained(tmp_path, RECIPE, "--development", str(path))
    start = tmp_path / "start"
    train(recipe_of(tmp_path, RECIPE, "--development", str(path), "--epochs", "0"), start)
    run, shown = record(output), card(output)
    change = run["change"]
    assert change["after"] == run["progress"]["best_score"]
    for key, folder in (("before", start), ("after", output)):
        figures = evaluate_pairs(SentenceEncoder.from_pretrained(folder), path)["headline"]
        assert change[key] == pytest.approx(next(iter(figures.values())), abs=0.01)
    assert 0 < change["p_value"] <= 1
    assert f"{change['before']:.2f}" in shown
    assert "dev.tsv" in shown
    assert str(tmp_path) not in shown


def test_an_unknown_development_set_is_refused_before_any_work(tmp_path):
    with pytest.raises(RecipeError):
        recipe_of(tmp_path, RECIPE, "--development", "claen")
    recipe = recipe_of(tmp_path, RECIPE, "--development", "claen.tsv")
    with pytest.raises(RecipeError):
        train(recipe, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_p_value_is_of_the_weighted_sum_of_parts():
    random = np.random.default_rng(5)
    gold = random.normal(size=(2, 60))
    weak, strong = (
        Evaluation.of_parts(
            [
                (weight, Ranked("", "", "pearson", each + noise * random.normal(size=60), each))
                for weight, each in zip((2.0, -1.0), gold, strict=True)
            ]
        )
        for noise in (2.0, 0.5)
    )
    assert weak == pytest.approx(2 * weak.parts[0][1].score - weak.parts[1][1].score)
    alone = p_value(weak.parts[0][1], strong.parts[0][1])
    one, other = (Evaluation.of_parts(each.parts[:1]) for each in (weak, strong))
    assert one.p_value(other) == alone == other.p_value(one)
    assert weak.p_value(weak) == 1
    assert weak.p_value(strong) > alone  # the second part counts against it
    assert Evaluation(1.0, {}).p_value(Evaluation(2.0, {})) is None
