"""Finds the best rows of a corpus to train on.

`filters.py CORPUS --data DATA --output DIR` cuts a back-translated corpus into tenths by the score
of each filter, trains an encoder on equally many pairs of each tenth, and scores it on STS
2012-2016 (2017 paper, 5.5 to 5.7; thesis 4.5.4, Table 29). A second call resumes.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.evaluation.run import evaluate
from paraphrastic_hf.io.files import write_bytes, write_json
from paraphrastic_hf.pipelines.read import read_corpus
from paraphrastic_hf.pipelines.statistics.tenths import write_tenths
from paraphrastic_hf.pipelines.steps.registry import make_step
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import load_contrastive

RECIPES = Path(__file__).resolve().parent.parent
TRANSLATION_SCORE = "translation_score"  # step, and the column it reads
FILTERS: dict[str, tuple[str, dict[str, Any]]] = {  # name: (step, its keys)
    "paraphrase score": ("paraphrase_score", {}),
    "trigram overlap": ("overlap", {"n": 3}),
    "bigram overlap": ("overlap", {"n": 2}),
    "unigram overlap": ("overlap", {"n": 1}),
    "BLEU": ("bleu", {}),
    "words of the translation": ("words", {"of": "translation"}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="output of `paraphrastic corpus make`")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument(
        "--recipe", nargs="+", default=["paranmt-2018/word"], help="recipes of the encoders"
    )
    parser.add_argument("--parts", type=int, default=10, help="number of parts (default: 10)")
    parser.add_argument("--pairs", type=int, default=24_000, help="pairs per part (default: 24000)")
    parser.add_argument("--epochs", type=int, default=5, help="epochs per encoder (default: 5)")
    parser.add_argument("--only", nargs="+", help="filters to use (default: all)")
    parser.add_argument(
        "--translation-score",
        action="store_true",
        help="add a filter by the column translation_score",
    )
    parser.add_argument(
        "--reference", metavar="MODEL", help="add a filter by a run of reference-averaging"
    )
    parser.add_argument(
        "--language-model", metavar="MODEL", help="add a filter by a run or a KenLM file"
    )
    arguments = parser.parse_args()
    filters = dict(FILTERS)
    if arguments.translation_score:
        filters["translation score"] = (TRANSLATION_SCORE, {})
    if arguments.reference:
        filters["reference classifier"] = ("reference", {"model": arguments.reference})
    if arguments.language_model:
        filters["cross-entropy"] = ("cross_entropy", {"model": arguments.language_model})
    for name in arguments.only or filters:
        if name not in filters:
            parser.error(f"--only: unknown filter {name!r}. Filters: {', '.join(filters)}")
        folder = arguments.output / name.replace(" ", "-")
        check_settings(parser, arguments, folder, filters[name])
        for part in cut(arguments, folder, *filters[name]):
            for recipe in arguments.recipe:
                run(arguments, recipe, folder, name, part)
                write_table(arguments.output)


def check_settings(
    parser: argparse.ArgumentParser,
    arguments: argparse.Namespace,
    folder: Path,
    step: tuple[str, dict[str, Any]],
) -> None:
    """Record the settings of a filter's folder, and refuse other settings later."""
    given = {name: getattr(arguments, name) for name in ("corpus", "parts", "pairs", "epochs")}
    wanted = json.loads(json.dumps({**given, "step": step}))
    record = folder / "settings.json"
    if record.exists() and json.loads(record.read_text(encoding="utf-8")) != wanted:
        parser.error(f"{folder} has results of other settings. Choose another --output")
    folder.mkdir(parents=True, exist_ok=True)
    write_json(record, wanted)


def cut(
    arguments: argparse.Namespace, folder: Path, step: str, keys: dict[str, Any]
) -> list[dict[str, Any]]:
    """Cut the corpus by a filter, lowest scores first, unless it is already cut."""
    done = folder / "parts.json"
    if not done.exists():
        columns = [TRANSLATION_SCORE] if step == TRANSLATION_SCORE else []

        def batches() -> Iterator[Sequence[Any]]:
            yield from read_corpus(arguments.corpus, columns)

        parts = write_tenths(
            batches,
            make_step(step, keys).score,
            folder,
            parts=arguments.parts,
            most=arguments.pairs,
        )
        found = [{"file": part.path.name, "low": part.low, "high": part.high} for part in parts]
        write_json(done, {"parts": found})
    parts: list[dict[str, Any]] = json.loads(done.read_text(encoding="utf-8"))["parts"]
    return parts


def run(
    arguments: argparse.Namespace, recipe: str, folder: Path, name: str, part: dict[str, Any]
) -> None:
    """Train and score an encoder on one part, unless `row.json` exists."""
    place = folder / f"{Path(part['file']).stem}-{Path(recipe).name}"
    if (place / "row.json").exists():
        return
    settings = ["--epochs", str(arguments.epochs), "--sources", str(folder / part["file"])]
    loaded = load_contrastive(RECIPES / f"{recipe}.yaml", settings)
    train(loaded, place, data_root=arguments.data, progress=False)
    encoder = SentenceEncoder.from_pretrained(place)
    headline = evaluate(encoder, "sts", arguments.data / "eval", name=name)["headline"]
    clean = evaluate(encoder, "development", arguments.data / "eval", name=name)["headline"]
    scores = {"STS 2012-2016": headline["2012-2016"], "clean": clean["clean mean"]}
    row = {"filter": name, "encoder": Path(recipe).name, **part, **scores}
    write_json(place / "row.json", row)
    print(*row.values(), sep="\t", flush=True)


def write_table(output: Path) -> None:
    """Write finished parts to `table.md`, one line per filter and encoder."""
    rows = [json.loads(path.read_text("utf-8")) for path in sorted(output.glob("*/*/row.json"))]
    most = max(int(Path(row["file"]).stem.split("-")[1]) for row in rows)
    lines = [
        "| filter | encoder | " + " | ".join(map(str, range(1, most + 1))) + " |",
        "|---|---|" + "---:|" * most,
    ]
    for name, encoder in dict.fromkeys((row["filter"], row["encoder"]) for row in rows):
        cells = {
            row["file"]: f"{row['STS 2012-2016']:.1f}"
            for row in rows
            if (row["filter"], row["encoder"]) == (name, encoder)
        }
        lines.append(f"| {name} | {encoder} | " + " | ".join(cells.values()) + " |")
    write_bytes(output / "table.md", ("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    main()
