"""The card of a dataset, from its record: what the Hub shows, and the `configs:` it loads by."""

from __future__ import annotations

import re
from collections.abc import Mapping

import yaml

from paraphrastic_hf.data.sources import Source

Counts = Mapping[str, Mapping[str, "int | None"]]
TASK = {
    "pair": "sentence-similarity",
    "scored pair": "sentence-similarity",
    "bitext": "translation",
    "labelled": "text-classification",
    "parsed sentence": "token-classification",
}


TEMPLATE = """---
{front}---

# {name}

{summary}

Row type: {row_type}. Used in: {section}.

## Load

With [paraphrastic_hf](https://pypi.org/project/paraphrastic-hf), from the official files:

```python
from paraphrastic_hf import load_dataset

rows = load_dataset("{name}", "{config}", split="{split}", data_dir="DATA")
```

{download}

From an export (`paraphrastic data export {name} --output DIR`), with nothing of ours installed:

```python
from datasets import load_dataset

rows = load_dataset("DIR", "{config}", split="{split}")
```

## Rows

{rows}

## Licence

{licence}.{share}

## Provenance

{provenance}
"""
PRIVATE = """

**An export must stay private:** the licence, or part of the text, does not allow publishing it."""


def dataset_card(source: Source, counts: Counts, *, has_files: bool) -> str:
    """A README for a dataset repository.

    Args:
        source: The corpus.
        counts: Rows of each configuration's splits; None where unknown.
        has_files: Whether parquet files lie beside it, so that `configs:` names them.
    """
    config = next(iter(counts), "en-fr")
    downloads = (
        "Without `data_dir` the official files are downloaded, and verified where a checksum is "
        "known."
    )
    by_hand = f"A program cannot fetch them: {source.by_hand}"
    origin = [source.homepage, *_addresses(source), source.citation and f"Cite: {source.citation}"]
    return TEMPLATE.format(
        front=_front_matter(source, counts, has_files),
        name=source.name,
        summary=source.summary,
        row_type=source.row_type,
        section=source.section,
        config=config,
        split=next(iter(counts.get(config, {"train": None}))),
        download=downloads if source.files else by_hand,
        rows="\n\n".join(filter(None, [counts_table(counts), source.notes])),
        licence=source.licence,
        share="" if source.may_share else PRIVATE,
        provenance="\n\n".join(filter(None, origin)) or "Your own text.",
    )


def _front_matter(source: Source, counts: Counts, has_files: bool) -> str:
    head: dict[str, object] = {
        "pretty_name": source.name,
        **_licence(source),
        "task_categories": [TASK[source.row_type]],
    }
    if has_files:
        head["configs"] = [
            {
                "config_name": config,
                "data_files": [
                    {"split": split, "path": f"{config}/{split}-*.parquet"} for split in splits
                ],
                **({"default": True} if number == 0 else {}),
            }
            for number, (config, splits) in enumerate(counts.items())
        ]
    return yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=1000)


def _licence(source: Source) -> dict[str, str]:
    """The Hub's name for a Creative Commons licence; anything else is told on the card."""
    if re.fullmatch(r"CC BY[A-Z-]* \d\.\d( \([^)]*\))?", source.licence):
        return {"license": source.licence.split(" (")[0].lower().replace(" ", "-")}
    return {"license": "other", "license_name": "as-stated-on-the-card"}


def counts_table(counts: Counts) -> str:
    """A Markdown table of rows by configuration and split; a corpus of any pair has none."""
    if not counts:
        return "One configuration for each pair of languages."
    splits = list(dict.fromkeys(split for of in counts.values() for split in of))
    lines = ["| configuration | " + " | ".join(splits) + " |", "|---" + "|---:" * len(splits) + "|"]
    for config, of in counts.items():
        cells = [f"{of[s]:,}" if of.get(s) is not None else "?" if s in of else "" for s in splits]
        lines.append(f"| {config} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _addresses(source: Source) -> list[str]:
    urls = [remote.url for remote in source.files]
    shown = [f"* `{url}`" for url in urls[:12]]
    more = [f"* and {len(urls) - 12} more"] if len(urls) > 12 else []
    return ["\n".join(shown + more)]
