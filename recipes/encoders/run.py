"""Trains and scores every encoder of `rows.tsv` on the same pairs, and writes the table.

    python recipes/encoders/run.py --data DATA --output runs/encoders
    python recipes/encoders/run.py --data DATA --output runs/encoders --speed  # idle machine

A second call resumes. `--share 0/2` and `--share 1/2` divide the rows between two processes.
"""

import argparse
import csv
import json
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import torch

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.evaluation.report import write_report
from paraphrastic_hf.evaluation.run import evaluate
from paraphrastic_hf.io.files import write_json
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import load_contrastive

RECIPES = Path(__file__).resolve().parent.parent
COLUMNS = (
    "epochs",
    "papers",
    "STS 12-16",
    "12-15",
    "22 sets",
    "STS-B dev",
    "STS-B test",
    "parameters",
)
SPEEDS = ("pairs/s", "sentences/s")
SPEED_SHARE = 0.02  # share of each source's pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--only", default="*", help="glob pattern of row names (default: all)")
    parser.add_argument(
        "--share", default="0/1", help="K/N: every Nth row from the Kth, counted from 0"
    )
    parser.add_argument("--development", help="set that picks the checkpoint (default: clean)")
    parser.add_argument(
        "--speed", action="store_true", help="measure the speed of finished rows instead"
    )
    arguments = parser.parse_args()
    number, of = map(int, arguments.share.split("/"))
    rows = [row for row in read_rows() if fnmatch(row["name"], arguments.only)]
    if not rows:
        names = ", ".join(row["name"] for row in read_rows())
        parser.error(f"--only {arguments.only!r} matches no row. Rows: {names}")
    if not arguments.data.is_dir():
        parser.error(f"--data must be a folder, got {arguments.data}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    for row in rows[number::of]:
        folder = arguments.output / row["name"].replace(", ", "-").replace(" ", "-")
        try:
            if not arguments.speed:
                run(row, folder, arguments.data, arguments.development)
            elif (folder / "run.json").exists():
                measure(row, folder, arguments.data)
        except ParaphrasticError as error:
            print(f"{row['name']}: {error}")
        write_table(arguments.output)


def read_rows() -> list[dict[str, Any]]:
    with (Path(__file__).parent / "rows.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def recipe_of(row: dict[str, Any], *overrides: str) -> ContrastiveRecipe:
    path = RECIPES / f"{row['recipe']}.yaml"
    return load_contrastive(path, [*row["options"].split(), *overrides])


def run(row: dict[str, Any], folder: Path, data_root: Path, development: str | None) -> None:
    """Train and score one encoder, unless `row.json` exists."""
    if (folder / "row.json").exists():
        return
    print(f"{time.strftime('%H:%M:%S')} {row['name']}", flush=True)
    recipe = recipe_of(row, *(["--development", development] if development else []))
    progress = train(recipe, folder, data_root=data_root, progress=False)
    encoder = SentenceEncoder.from_pretrained(folder)
    results = evaluate(encoder, "sts", data_root / "eval", name=row["name"], keep=folder / "tasks")
    write_report(results, folder)
    headline = results["headline"]
    years = [headline[str(year)] for year in range(2012, 2016)]
    dev = next(r for r in results["rows"] if (r["group"], r["name"]) == ("STS-B", "dev"))
    model = encoder.model
    write_json(
        folder / "row.json",
        {
            "name": row["name"],
            "recipe": row["recipe"],
            "options": row["options"],
            "papers": float(row["paper"]) if row["paper"] else None,
            "epochs": recipe.training.epochs,
            "STS 12-16": headline["2012-2016"],
            "12-15": sum(years) / len(years),
            "22 sets": next(
                (value for name, value in headline.items() if "datasets" in name), None
            ),
            "STS-B dev": dev["scores"]["pearson"],
            "STS-B test": headline["STS-B test"],
            "parameters": sum(p.numel() for p in model.parameters()),
            "minutes": progress.seconds / 60,
        },
    )


def measure(row: dict[str, Any], folder: Path, data_root: Path) -> None:
    """Measure training speed (one epoch on a share of the pairs) and encoding speed (STS-B dev)."""
    if (folder / "speed.json").exists():
        return
    torch.set_num_threads(1)
    once = ("--epochs", "1", "--development", "none")
    sources = [dict(source.__dict__) for source in recipe_of(row).data.sources]
    for source in sources:
        source["max_pairs"] = max(100, int((source["max_pairs"] or 200_000) * SPEED_SHARE))
        source["dataset"] = None
    recipe = recipe_of(row, *once, "--sources", *map(json.dumps, sources))
    progress = train(recipe, folder / "speed", data_root=data_root, overwrite=True, progress=False)
    text = (data_root / "eval/stsbenchmark/sts-dev.csv").read_text(encoding="utf-8").splitlines()
    sentences = [line.split("\t")[5] for line in text]
    encoder = SentenceEncoder.from_pretrained(folder, num_threads=1)
    encoder.encode(sentences[:100])
    start = time.perf_counter()
    encoder.encode(sentences)
    seconds = time.perf_counter() - start
    write_json(
        folder / "speed.json",
        {"pairs/s": progress.examples / progress.seconds, "sentences/s": len(sentences) / seconds},
    )


def write_table(output: Path) -> None:
    """Write finished rows to `table.md` and `table.json`, in the order of `rows.tsv`."""
    order = [row["name"] for row in read_rows()]
    found = []
    for path in output.glob("*/row.json"):
        speed = path.with_name("speed.json")
        more = json.loads(speed.read_text()) if speed.exists() else {}
        found.append({**json.loads(path.read_text(encoding="utf-8")), **more})
    found.sort(key=lambda row: order.index(row["name"]))
    columns = [*COLUMNS, *SPEEDS]
    lines = ["| encoder | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    for row in found:
        cells = [cell(row.get(column), column) for column in columns]
        lines.append(f"| {row['name']} | " + " | ".join(cells) + " |")
    (output / "table.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_json(output / "table.json", {"rows": found})


def cell(value: float | None, column: str) -> str:
    if value is None:
        return ""
    if column == "parameters":
        return f"{value / 1e6:.1f}M"
    return f"{value:,.0f}" if column in (*SPEEDS, "epochs") else f"{value:.1f}"


if __name__ == "__main__":
    main()
