"""Dataset cards, written from the records of corpora."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paraphrastic_hf.corpora.sources import Source
from paraphrastic_hf.io.markdown import markdown_table

Counts = Mapping[str, Mapping[str, "int | None"]]
TASK = {
    "pair": "sentence-similarity",
    "scored pair": "sentence-similarity",
    "bitext": "translation",
    "labeled": "text-classification",
    "parsed sentence": "token-classification",
}
SIZES = (  # the Hub's categories of row counts, from below 10^3 to below 10^10
    "n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B",
    "1B<n<10B",
)  # fmt: skip

TEMPLATE = Path(__file__).with_name("card.md.template")
PRIVATE = """

**Keep exports private:** no stated license allows publishing all texts of this corpus."""


def dataset_card(source: Source, counts: Counts) -> str:
    config = next(iter(counts), "en-fr")
    downloads = (
        "Without `data_dir`, the official files are downloaded and checked against known checksums."
    )
    by_hand = f"The files cannot be downloaded automatically: {source.by_hand}"
    origin = [source.homepage, *_addresses(source), source.citation and f"Cite: {source.citation}"]
    return TEMPLATE.read_text("utf-8").format(
        front=_front_matter(source, counts),
        name=source.name,
        title=source.title or source.name,
        summary=source.summary,
        row_type=source.row_type,
        section=source.section,
        config=config,
        split=next(iter(counts.get(config, {"train": None}))),
        download=downloads if source.files else by_hand,
        rows="\n\n".join(filter(None, [counts_table(counts), source.notes])),
        license=source.license[:1].upper() + source.license[1:],
        share="" if source.may_share else PRIVATE,
        provenance="\n\n".join(filter(None, origin)) or "Your own text.",
    )


def _front_matter(source: Source, counts: Counts) -> str:
    from huggingface_hub import DatasetCardData

    head = DatasetCardData(
        pretty_name=source.title or source.name,
        language=_languages(source, counts),
        size_categories=_size(counts),
        task_categories=[TASK[source.row_type]],
        configs=[
            {
                "config_name": config,
                "data_files": [
                    {"split": split, "path": f"{config}/{split}-*.parquet"} for split in splits
                ],
                **({"default": True} if number == 0 else {}),
            }
            for number, (config, splits) in enumerate(counts.items())
        ]
        or None,
        **_license(source),
    )
    return head.to_yaml(original_order=["pretty_name", "language", "license", "license_name"])


def _languages(source: Source, counts: Counts) -> list[str] | None:
    if source.row_type != "bitext":
        return list(source.languages) or None
    found = {code for config in counts for code in config.split("-")}
    if found and not any("-" in config for config in counts):  # each with English translations
        found.add("en")
    return sorted(found) or ["multilingual"]


def _size(counts: Counts) -> list[str] | None:
    sizes = [number for splits in counts.values() for number in splits.values()]
    if not sizes or None in sizes:
        return None
    return [size_category(sum(number or 0 for number in sizes))]


def size_category(rows: int) -> str:
    """Return the Hub's category of a number of rows."""
    return SIZES[max(0, len(str(rows)) - 3)]


def _license(source: Source) -> dict[str, Any]:
    if re.fullmatch(r"CC BY[A-Z-]* \d\.\d( \([^)]*\))?", source.license):
        return {"license": source.license.split(" (")[0].lower().replace(" ", "-")}
    return {"license": "other", "license_name": "as-stated-on-the-card"}


def counts_table(counts: Counts) -> str:
    """Return a Markdown table with the number of rows by configuration and split."""
    if not counts:
        return "One configuration for each pair of languages."
    splits = list(dict.fromkeys(split for of in counts.values() for split in of))
    rows = [
        [config, *("" if s not in of else "?" if of[s] is None else f"{of[s]:,}" for s in splits)]
        for config, of in counts.items()
    ]
    return "\n".join(markdown_table(["configuration", *splits], rows))


def _addresses(source: Source) -> list[str]:
    urls = [remote.url for remote in source.files]
    shown = [f"* `{url}`" for url in urls[:12]]
    more = [f"* and {len(urls) - 12} more"] if len(urls) > 12 else []
    return ["\n".join(shown + more)]
