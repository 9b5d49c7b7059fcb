from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import RepoCard

from paraphrastic_hf.metrics.install import MODULE, PLACE
from paraphrastic_hf.metrics.scorer import SimileScorer
from tests import fresh

CARD = RepoCard((MODULE / "README.md").read_text(encoding="utf-8"))
# gradio leaves event loops open, so it runs in a separate process
ASKED = """
import json, runpy, sys

found = runpy.run_path(sys.argv[1])
page, example = found["page"], found["EXAMPLE"]
said, rows = page.fn(*example, "simile", "windows", 0.25, "both")
try:
    page.fn("one\\ntwo", "one", "simile", "windows", 0.25, "both")
except found["gr"].Error as error:
    wrong = str(error)
labels = [field.label for field in page.input_components]
print(json.dumps([labels, example, said, rows, wrong]))
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("gradio") is None, reason="gradio is in the extra space")
def test_the_page_shows_the_scores_of_the_metric(tmp_path: Path) -> None:
    done = fresh.run(ASKED, str(MODULE / "app.py"), folder=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    labels, example, said, rows, wrong = json.loads(done.stdout.splitlines()[-1])
    assert labels == [
        "hypotheses",
        "references",
        "model",
        "similarity",
        "alpha",
        "length penalty",
    ]
    scores = SimileScorer().score(*(text.splitlines() for text in example))
    assert f"SimiLE {100 * scores.score:.2f}" in said
    assert scores.signature in said
    assert [row[0] for row in rows] == [round(100 * each, 1) for each in scores.simile]
    assert "2" in wrong


def test_the_card_describes_a_metric_space() -> None:

    front: dict[str, Any] = CARD.data.to_dict()
    assert {"evaluate", "metric"} <= set(front["tags"])
    assert front["sdk"] == "gradio"
    assert (MODULE / front["app_file"]).is_file()
    assert front["description"]
    assert PLACE in CARD.text  # publishing replaces it
    space = Path(__file__).parents[2] / "hub_cards" / "spaces" / "paraphrastic" / "README.md"
    same = RepoCard(space.read_text(encoding="utf-8")).data.to_dict()
    for key in ("sdk_version", "python_version"):
        assert front[key] == same[key]
