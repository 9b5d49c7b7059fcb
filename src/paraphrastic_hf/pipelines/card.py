"""Card of a corpus, written from the results of `corpus make`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.config.recipe import to_yaml
from paraphrastic_hf.corpora.card import size_category
from paraphrastic_hf.io.markdown import code, code_block, markdown_table
from paraphrastic_hf.pipelines.recipe import TRANSLATE, CorpusRecipe, EngineArguments

COLUMNS = {
    "reference": "a sentence of the bitext",
    "translation": "the other side",
    "translation_score": "mean log-probability of its tokens, in nats (empty if the engine has "
    "no scores)",
    "paraphrase_score": "cosine of the two sides, by the recipe's encoder",
    "overlap": "shared trigrams, divided by the trigrams of the side with fewer",
    "reference_length": "words, split at white space",
    "translation_length": "words, split at white space",
    "source": "the sentence that was translated",
    "corpus": "name of the source corpus",
    "license": "license of the text",
}
STEP_OF = {  # steps that write optional columns
    **dict.fromkeys(("translation_score", "source"), TRANSLATE),
    **{name: name for name in ("paraphrase_score", "overlap")},
}
TEMPLATE = Path(__file__).with_name("card.md.template")


def corpus_card(
    recipe: CorpusRecipe,
    rows: int,
    read: int,
    steps: Sequence[Mapping[str, Any]],
    origins: Sequence[tuple[str, str, int]],
) -> str:
    """Return the README of a corpus folder, with the metadata that `datasets` needs."""
    from huggingface_hub import DatasetCardData

    languages = [recipe.data.reference]
    if not recipe.is_bitext:
        named = [name for source in recipe.data.sources for name in source.languages or ()]
        languages = list(dict.fromkeys([*languages, *named]))
    front = DatasetCardData(
        language=languages,
        task_categories=["sentence-similarity"],
        size_categories=[size_category(rows)],
        configs=[
            {
                "config_name": name,
                "data_files": [{"split": "train", "path": f"{folder}/*.parquet"}],
                **({"default": True} if name == "default" else {}),
            }
            for name, folder in (("default", "data"), ("rejects", "rejects"))
            if name == "default" or any(step["rejected"] for step in steps)
        ],
    )
    names = [str(step["step"]) for step in steps]
    columns = [[code(n), text] for n, text in COLUMNS.items() if STEP_OF.get(n, "read") in names]
    table = [
        [s["step"], f"{s['kept']:,}", f"{s['rejected']:,}", f"{s['seconds']:,.1f}"] for s in steps
    ]
    return TEMPLATE.read_text("utf-8").format(
        front=front.to_yaml(),
        rows=rows,
        read=read,
        kind="paraphrases" if len(languages) == 1 else "translations",
        languages=", ".join(languages),
        how=(
            f". One side is from bitext, the other {_engine(recipe.engine)}. The method follows "
            "[ParaNMT](https://aclanthology.org/P18-1042)"
            if recipe.is_bitext
            else ""
        ),
        columns="\n".join(markdown_table(["column", "content"], columns, "ll")),
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
    model = code(str(engine.model))
    if engine.kind == "apertium":
        return f"was translated by Apertium's rules ({model})"
    if engine.kind == "command":
        return f"was written by {model}"
    how = (
        f"sampled at temperature {engine.temperature:g}"
        if engine.sample
        else f"beam size {engine.beams}"
    )
    many = f", {engine.outputs} per sentence" if engine.outputs > 1 else ""
    return f"was translated by {model} ({engine.kind}, {how}{many})"
