"""The card of a trained model: data with licences and checksums, the command, the scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paraphrastic_hf.data.lines import table_rows
from paraphrastic_hf.data.receive import sha256_of
from paraphrastic_hf.encoding.fingerprint import weights_hash
from paraphrastic_hf.encoding.load import load_encoder
from paraphrastic_hf.encoding.locate import ASSETS, holds_model, packaged_model
from paraphrastic_hf.errors import DataError, ModelError
from paraphrastic_hf.evaluation.report import headline_table, read_results
from paraphrastic_hf.evaluation.sts import YEARS
from paraphrastic_hf.markdown import markdown_table
from paraphrastic_hf.recipe import read_mapping
from paraphrastic_hf.text.files import read_json, write_bytes

RELEASABLE = ("open", "share-alike")
# What a card says of the set that picked the model, by its name in a recipe.
SELECTION = {
    "none": "The last state was kept. No development set had a part in it.",
    "clean": "The state that scored best on the clean development set was kept: pairs of STS-B "
    "dev, SICK trial and Annotated-PPDB dev that no reported test set holds.",
    "clean-and-bitext": "The state that scored best on the clean development set and on "
    "translations held out of training was kept. The former are pairs of STS-B dev, SICK trial and "
    "Annotated-PPDB dev that no reported test set holds.",
    "stsb-dev": "The state that scored best on STS-B dev was kept. Of its 1,500 pairs 1,131 are "
    "also in STS 2012-2016 and 125 in STS 2017 en-en, so scores on these are in part scores on "
    "what the model was chosen by.",
    "sts17-en-en": "The state that scored best on STS 2017 en-en was kept, so the score on it is "
    "no test. Of its 250 pairs 125 are also in STS-B test.",
    "ws353-tuning": "The state that scored best on the two parts of WordSim-353 was kept, so "
    "scores on WS353, WS-S and WS-R are no test.",
}
SOURCE_COLUMNS = ("source", "pairs", "licence", "SHA-256 of the file")
TEMPLATE = """---
{front}
---

# {title}

{summary} {rows:,} sentencepiece entries, {dimension} dimensions: a sentence's vector is the mean of
its pieces' rows (thesis, section 5.1.1), and similarity is the cosine of two vectors. {size:.1f} MB
of weights, no attention, no GPU.

## Use

```python
{use}
```

## Training

    {command}

Seed {seed}; {pairs:,} pairs seen in {minutes:.0f} minutes on {threads} CPU thread(s). The recipe
lies beside this card. {choice}

{sources}

## Scores

{scores}

## Licence

{licence}{reason}. Please cite the thesis (Wieting, CMU 2020) and the sources
above.

## Limits

Word order does not count: "dog bites man" is "man bites dog". It knows the domains above best, and
negation hardly at all.
"""
PACKAGED = """from paraphrastic_hf import SentenceEncoder, packaged_model

encoder = SentenceEncoder.from_pretrained("{name}")
encoder.similarity(["a cat sleeps"], ["a cat is asleep"])

from sentence_transformers import SentenceTransformer  # stock classes; needs nothing of ours

SentenceTransformer(str(packaged_model("{name}"))).encode(["a cat sleeps"])"""
DIRECTORY = """from paraphrastic_hf import SentenceEncoder

model = "{name}"  # this directory, or USER/{name} on the Hub
encoder = SentenceEncoder.from_pretrained(model)
encoder.similarity(["a cat sleeps"], ["a cat is asleep"])

from sentence_transformers import SentenceTransformer  # stock classes; needs nothing of ours

SentenceTransformer(model).encode(["a cat sleeps"])"""


def model_card(
    directory: str | Path,
    *,
    data_root: str | Path,
    evaluation: str | Path,
    command: str,
    summary: str,
    languages: list[str],
    licence: str = "cc-by-sa-4.0",
) -> str:
    """The card of a model that `paraphrastic train` made, from what lies in its folder.

    Args:
        directory: The model.
        data_root: Folder its sources are in, with `train/SOURCES.tsv`.
        evaluation: Folder that `paraphrastic evaluate --output` wrote.
        command: The command that trained it.
        summary: One or two sentences.
        languages: Codes of its languages.
        licence: Of the weights, as the Hub names it.

    Raises:
        DataError: A source is not in `SOURCES.tsv`, its class does not allow a release, or the
            evaluation is another model's.
        ModelError: The folder holds no finished training run, or of another kind of model than an
            average of sentencepieces.
    """
    from huggingface_hub import ModelCardData

    directory, root = Path(directory), Path(data_root)
    try:
        run = read_json(directory / "run.json")
        config = read_json(directory / "config.json")
        recipe = read_mapping(directory / "recipe.yaml")
    except (OSError, ValueError) as error:
        raise ModelError(f"{directory} holds no finished run of `paraphrastic train`") from error
    if "task" in run:
        raise ModelError(f"{directory} holds a model of a task; cards are those of encoders")
    kind = config["model_type"], recipe["tokenizer"]["kind"]
    if kind != ("paraphrastic-averaging", "sentencepiece"):
        raise ModelError(
            f"{directory} holds a {kind[0]} model over {kind[1]} tokens; what a card says of "
            "a model is true of averages of sentencepieces alone so far"
        )
    weights = weights_hash(load_encoder(directory))
    suites = read_results(evaluation)
    for results in suites:
        if results["settings"]["weights"] != weights:
            raise DataError(
                f"{evaluation} holds scores on {results['suite']} of other weights than those in "
                f"{directory}: evaluate this model"
            )
    known = {
        f"train/{row[0]}/{row[1]}.tsv.xz": row
        for _, row in table_rows(root / "train" / "SOURCES.tsv", 7, header="pair")
    }
    sources = []
    counts = {_within(root, path): pairs for path, pairs in run["pairs_by_source"].items()}
    for path, pairs in counts.items():
        if path not in known or known[path][5] not in RELEASABLE:
            raise DataError(f"{path} is no source that a released model may be trained on")
        digest = sha256_of(root / path)
        sources.append([path, f"{pairs:,}", known[path][6], f"`{digest}`"])
    shared = any(known[path][5] == "share-alike" for path in counts)
    name = directory.name
    front = ModelCardData(
        license=licence,
        language=languages,
        library_name="sentence-transformers",
        pipeline_tag="sentence-similarity",
        tags=["paraphrastic", "static-embedding", "sentence-transformers"],
    )
    return TEMPLATE.format(
        front=front.to_yaml(original_order=["license"]),
        title=f"paraphrastic {name}",
        use=(PACKAGED if _is_packaged(name, weights) else DIRECTORY).format(name=name),
        choice=SELECTION[run["development"]],
        reason=": some sources are share-alike" if shared else "",
        summary=summary,
        rows=config["vocab_size"],
        dimension=config["hidden_size"],
        size=(directory / "model.safetensors").stat().st_size / 1e6,
        command=command,
        seed=recipe["seed"],
        pairs=run["progress"]["examples"],
        minutes=run["progress"]["seconds"] / 60,
        threads=run["threads"],
        sources="\n".join(markdown_table(SOURCE_COLUMNS, sources, "lrll")),
        scores="\n\n".join(_scores(results) for results in suites),
        licence=licence.upper(),
    )


def _within(root: Path, path: str) -> str:
    """A source by its place under the data root, however it was named."""
    is_inside = Path(path).is_absolute() and Path(path).is_relative_to(root.resolve())
    return Path(path).relative_to(root.resolve()).as_posix() if is_inside else path


def _is_packaged(name: str, weights: str) -> bool:
    return (
        holds_model(ASSETS / name) and weights_hash(load_encoder(packaged_model(name))) == weights
    )


def write_card(directory: str | Path, text: str) -> None:
    """Write the card as the folder's README."""
    write_bytes(Path(directory) / "README.md", text.encode("utf-8"))


def _scores(results: dict[str, Any]) -> str:
    lines = [f"### {results['suite']}", "", *headline_table(results)]
    if results["suite"] == "sts":  # the tracks and splits that no year holds
        rows = [
            [f"{row['group']} {row['name']}"]
            + [f"{row['scores'][measure]:.1f}" for measure in ("pearson", "spearman")]
            for row in results["rows"]
            if row["group"] not in YEARS
        ]
        lines += ["", *markdown_table(["set", "Pearson", "Spearman"], rows)]
    return "\n".join(lines)
