"""The card of a corpus, made from its run: what it holds, how it was made, where it is from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paraphrastic_hf.config.recipe import to_yaml
from paraphrastic_hf.io.markdown import code, code_block, markdown_table
from paraphrastic_hf.pipelines.recipe import TRANSLATE, CorpusRecipe, EngineArguments

SIZES = {
    10**3: "n<1K",
    10**4: "1K<n<10K",
    10**5: "10K<n<100K",
    10**6: "100K<n<1M",
    10**7: "1M<n<10M",
    10**8: "10M<n<100M",
}
COLUMNS = {
    "reference": "a sentence of the bitext",
    "translation": "the other side, as the engine translated it",
    "translation_score": "mean over its tokens of ln of their probability; empty of engines that "
    "have none",
    "paraphrase_score": "cosine of the two sides by the encoder that the recipe names",
    "overlap": "trigrams that both sides have over those of the side that has fewer",
    "reference_length": "words, by white space",
    "translation_length": "words, by white space",
    "source": "the sentence that was translated",
    "corpus": "where the pair comes from",
    "license": "the license of that text",
}
TEMPLATE = """---
{front}
---

# A corpus of paraphrases

{rows:,} pairs of {language} sentences: one side is from bitext, the other {how}. Made by
`paraphrastic corpus make` from {read:,} pairs, after [ParaNMT](https://aclanthology.org/P18-1042).

## Load

```python
from datasets import load_dataset

rows = load_dataset("DIR", split="train")
rejected = load_dataset("DIR", "rejects", split="train")
```

To train an encoder on it, name the folder among a recipe's sources:

```sh
paraphrastic train own --sources DIR --output runs/mine
```

## Columns

{columns}

Other columns are scores of steps, by their names. `rejects` has the rows that were left out, with
the step, the score and the reason.

## What was kept

{steps}

Seconds are those of all tasks together.

## Where it comes from

{origins}

A row has the license of its text. Machine translation adds its own mistakes: names, numbers and
negations may be wrong, and what two sides share may be an error.

## Recipe

{recipe}
"""


def corpus_card(
    recipe: CorpusRecipe,
    rows: int,
    read: int,
    steps: Sequence[Mapping[str, Any]],
    origins: Sequence[tuple[str, str, int]],
) -> str:
    """A README for the folder of a corpus, by whose head `datasets` loads it."""
    from huggingface_hub import DatasetCardData

    front = DatasetCardData(
        language=[recipe.data.reference],
        task_categories=["sentence-similarity"],
        size_categories=[next((name for most, name in SIZES.items() if rows < most), "n>100M")],
        configs=[
            {
                "config_name": name,
                "data_files": [{"split": "train", "path": f"{folder}/*.parquet"}],
                **more,
            }
            for name, folder, more in (
                ("default", "data", {"default": True}),
                ("rejects", "rejects", {}),
            )
            if name == "default" or any(step["rejected"] for step in steps)
        ],
    )
    names = [str(step["step"]) for step in steps]
    is_there = {
        "translation_score": TRANSLATE in names,
        "paraphrase_score": "paraphrase_score" in names,
        "overlap": "overlap" in names,
        "source": TRANSLATE in names,
    }
    columns = [[code(n), text] for n, text in COLUMNS.items() if is_there.get(n, True)]
    table = [
        [s["step"], f"{s['kept']:,}", f"{s['rejected']:,}", f"{s['seconds']:,.1f}"] for s in steps
    ]
    return TEMPLATE.format(
        front=front.to_yaml(),
        rows=rows,
        read=read,
        language=recipe.data.reference,
        how=_engine(recipe.engine) if recipe.is_bitext else "was there",
        columns="\n".join(markdown_table(["column", "what it holds"], columns, "ll")),
        steps="\n".join(markdown_table(["step", "kept", "left out", "seconds"], table)),
        origins="\n".join(
            markdown_table(
                ["corpus", "license", "rows"],
                [[name, license, f"{count:,}"] for name, license, count in origins],
                "llr",
            )
        ),
        recipe=code_block(to_yaml(recipe), "yaml"),
    )


def _engine(engine: EngineArguments) -> str:
    """How the other side was written."""
    model = code(str(engine.model))
    if engine.kind == "apertium":
        return f"is Apertium's translation ({model}), by rules"
    if engine.kind == "command":
        return f"is what {model} wrote"
    how = (
        f"drawn at temperature {engine.temperature:g}"
        if engine.sample
        else f"beams of {engine.beams}"
    )
    many = f", {engine.outputs} of each sentence" if engine.outputs > 1 else ""
    return f"was translated by {model} ({engine.kind}, {how}{many})"
