"""Web page of the Space: scores pasted hypotheses against references."""

import functools
from typing import Any

import gradio as gr

from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.io.limited import SERVER
from paraphrastic_hf.metrics.names import PENALTIES, SIMILARITIES
from paraphrastic_hf.metrics.scorer import SimileScorer

ABOUT = (
    "Similarity of two texts, by windows of five tokens or by the cosine of the sentence "
    "embeddings (SIM), lowered if the lengths differ (SimiLE = LP^alpha SIM). One segment per line."
)
EXAMPLE = (
    "In Berlin, workers are beginning to clean up.\nWe made the city empty.",
    "Workers have begun to clean up in Berlin.\nWe make the city worth living in.",
)
COLUMNS = ["SimiLE", "SIM", "hypothesis", "reference"]

scorer = functools.lru_cache(maxsize=8)(SimileScorer)


def score(
    hypotheses: str, references: str, model: str, similarity: str, alpha: float, penalty: str
) -> tuple[str, list[list[Any]]]:
    """Return the corpus scores with their signature, and one table row per segment."""
    texts, truths = hypotheses.splitlines(), references.splitlines()
    try:
        options = {"similarity": similarity, "alpha": alpha, "penalty": penalty}
        scores = scorer(model, **options).score(texts, truths)
    except (ParaphrasticError, ValueError) as error:
        raise gr.Error(str(error)) from error
    rows = [
        [round(100 * simile, 1), round(100 * sim, 1), hypothesis, reference]
        for simile, sim, hypothesis, reference in zip(
            scores.simile.tolist(), scores.sim.tolist(), texts, truths, strict=True
        )
    ]
    summary = f"SimiLE {100 * scores.score:.2f}   SIM {100 * scores.sim_score:.2f}"
    return f"{summary}\n{scores.signature}", rows


page = gr.Interface(
    score,
    inputs=[
        gr.Textbox(EXAMPLE[0], lines=4, label="hypotheses"),
        gr.Textbox(EXAMPLE[1], lines=4, label="references"),
        gr.Dropdown(["simile", "english", "multilingual"], value="simile", label="model"),
        gr.Dropdown(list(SIMILARITIES), value="windows", label="similarity"),
        gr.Slider(0, 1, value=0.25, step=0.05, label="alpha"),
        gr.Dropdown(list(PENALTIES), value="both", label="length penalty"),
    ],
    outputs=[gr.Textbox(label="scores"), gr.Dataframe(headers=COLUMNS, wrap=True)],
    title="SimiLE",
    description=ABOUT,
)

if __name__ == "__main__":
    page.launch(app_kwargs=SERVER)
