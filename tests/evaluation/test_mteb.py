import numpy as np
import pytest

from paraphrastic_hf import SentenceEncoder, evaluate
from paraphrastic_hf.errors import DataError, MissingFileError
from paraphrastic_hf.evaluation.mteb_tasks import MtebEncoder, local_tasks
from tests.evaluation.made_pairs import Lengths

pytestmark = pytest.mark.filterwarnings("ignore")  # warnings of mteb


@pytest.mark.slow
def test_mteb_and_our_suite_agree_on_sts_benchmark(official):
    mteb = pytest.importorskip("mteb")

    encoder = SentenceEncoder.from_pretrained("english")
    tasks = local_tasks(official, ["STSBenchmark", "STS16"])
    results = mteb.evaluate(
        MtebEncoder(encoder), tasks, cache=None, co2_tracker=False, show_progress_bar=False
    )
    theirs = {r.task_name: r.scores["test"][0]["cosine_spearman"] for r in results.task_results}
    rows = evaluate(encoder, "sts", official)["rows"]
    ours = {(row["group"], row["name"]): row["scores"]["spearman"] for row in rows}
    assert 100 * theirs["STSBenchmark"] == pytest.approx(ours["STS-B", "test"], abs=0.05)
    assert 100 * theirs["STS16"] == pytest.approx(ours["2016", "all pairs"], abs=0.05)


@pytest.mark.slow
def test_every_task_loads_from_local_files(official):
    pytest.importorskip("mteb")
    tasks = local_tasks(official, ["STS17", "Tatoeba", "XNLI", "SICK-R"])
    assert all(task.data_loaded for task in tasks)
    assert set(tasks[1].dataset) == set(tasks[1].hf_subsets)


def test_batches_are_joined_and_compared_by_cosine():
    pytest.importorskip("mteb")

    encoder = MtebEncoder(Lengths())
    vectors = encoder.encode([{"text": ["a", "bb"]}, {"text": ["ccc"]}], task_metadata=None)
    np.testing.assert_array_equal(vectors, [[1, 1], [2, 1], [3, 1]])
    whole = encoder.similarity(vectors, vectors)
    np.testing.assert_allclose(encoder.similarity_pairwise(vectors, vectors), np.diag(whole))
    assert encoder.mteb_model_meta.name == "paraphrastic/Lengths"


def test_missing_files_and_unknown_tasks_are_errors(tmp_path):
    pytest.importorskip("mteb")
    with pytest.raises(MissingFileError):
        local_tasks(tmp_path, ["STS12"])
    with pytest.raises(DataError):
        local_tasks(tmp_path, ["STS99"])
    assert local_tasks(tmp_path) == []
