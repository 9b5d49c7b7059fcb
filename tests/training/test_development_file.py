"""A development file replaces held-out text of every kind and selects the checkpoint."""

import pytest

from paraphrastic_hf.errors import DataError
from tests.data_root import DEMO, write_supervised
from tests.trained import FAMILIES
from tests.training.runs import BITEXT, record, trained

DEMO_LINES = DEMO.read_text(encoding="utf-8").splitlines()
BITEXT_LINES = BITEXT.read_text(encoding="utf-8").splitlines()
TREE = "(ROOT (S (NP (PRP he)) (VP (VBD saw) (NP (DT a) (NN cat))) (. .)))"
PARSES = f"{TREE}\t(ROOT (S (VP (VB go))))"
RUNS = {  # lines of the file, number of examples, remaining training examples
    "language_model": ([line.split("\t")[0] for line in DEMO_LINES[:9]] + ["", "so"], 10, None),
    "gated_conv": ([*BITEXT_LINES[:6], "good night\tbonne nuit"], 7, len(BITEXT_LINES) - 6),
    "scpn": ([f"he saw {n} .\t{n} is seen\t{PARSES}" for n in "abc"], 6, None),  # both ways
    "relatedness": ([f"{line}\t{1 + n % 5}" for n, line in enumerate(DEMO_LINES[:6])], 6, 20),
    "entailment": ([f"neutral\t{line}" for line in DEMO_LINES[:6]], 6, 20),
    "sentiment": (["positive\ta good cat", "negative\ta bad cat"] * 3, 6, 20),
    "tagging": (["I\tPRP", "saw\tVBD", ""] * 8, 8, None),
    "parsing": ([TREE] * 6, 6, 4),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_development_file_selects_the_checkpoint(name, tmp_path):
    lines, count, left = RUNS[name]
    path, root = tmp_path / "dev.tsv", write_supervised(tmp_path / "data")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = record(trained(tmp_path, FAMILIES[name], "--run.development", str(path), data_root=root))
    assert run["change"]["after"] == pytest.approx(run["progress"]["best_score"], rel=1e-4)
    assert 0 < (run["change"]["p_value"] or 1) <= 1
    examples = run.get("examples") or {
        "validation": run.get("held_out_pairs") or run["held_out"]["sentences"],
        "train": run.get("pairs"),
    }
    assert examples["validation"] == count
    assert left in (None, examples["train"])


def test_a_malformed_development_file_is_refused(tmp_path):
    path = tmp_path / "dev.txt"
    path.write_text("the\tDT\nsaw NN\n", encoding="utf-8")
    options, root = ["--development", str(path)], write_supervised(tmp_path / "data")
    with pytest.raises(DataError, match=f"{path}:2"):
        trained(tmp_path, FAMILIES["tagging"], *options, data_root=root)
