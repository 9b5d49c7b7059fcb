"""What making a corpus costs, in seconds of one processor, so that a busy machine gives the same
figures.

* **translation**: sentences a second by CTranslate2 in int8, beside transformers' `generate` in
  float32, of the same Marian (`--model DIR`, else one of random weights in the size of OPUS-MT's,
  whose translations run to `--tokens`).
* **filters**: rows a second of the steps that need no model, and of the paraphrase score.
* **engine**: what stages, dealing and files cost over a plain loop of the same steps.
* **memory**: the largest memory of making corpora of more and more rows (`--sizes`).

A further part is a function in `PARTS`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paraphrastic_hf.io.files import write_json
from paraphrastic_hf.pipelines.deal import deal
from paraphrastic_hf.pipelines.recipe import CorpusRecipe, EngineArguments, corpus_recipe
from paraphrastic_hf.pipelines.stages import stages_of
from paraphrastic_hf.pipelines.steps.registry import make_steps

WORDS = 20_000
FILTERS: list[Any] = [
    {"words": {"of": "longer", "at_most": 30}},
    {"length_ratio": {"at_most": 2}},
    {"copy": {}},
    {"duplicates": {}},
    {"overlap": {"at_most": 0.7}},
]
SCORED = [*FILTERS, {"paraphrase_score": {"model": "english"}}]


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long something takes of this process's processors, and what it gives."""
    started = time.process_time()
    found = work()
    return time.process_time() - started, found


def write_pairs(path: Path, rows: int) -> None:
    """Random sentences of 12 words, each with one that shares half of its words."""
    choice = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(rows):
            first = [f"word{int(choice.paretovariate(0.5)) % WORDS}" for _ in range(12)]
            second = first[:6] + [f"word{choice.randrange(WORDS)}" for _ in range(6)]
            file.write(f"{' '.join(first)}\t{' '.join(second)}\n")


def recipe_of(path: Path, steps: list[Any], tasks: int = 4) -> CorpusRecipe:
    """A recipe without an engine."""
    return corpus_recipe(
        {
            "kind": "corpus",
            "data": {"sources": [str(path)]},
            "steps": steps,
            "make": {"tasks": tasks},
        }
    )


def make_here(recipe: CorpusRecipe, output: Path) -> dict[str, float]:
    """Make a corpus in this process; seconds of reading and dealing, and of the stages."""
    tasks = recipe.make.tasks
    dealing, counts = seconds_of(lambda: deal(recipe.data, output / "work" / "rows", tasks))

    def run() -> None:
        for task in range(tasks):
            flow: Any = None
            for stage in stages_of(recipe, output, counts, None):
                flow = stage(flow, task, tasks)
            list(flow)

    return {"dealing": dealing, "stages": seconds_of(run)[0]}


# -- parts -----------------------------------------------------------------------------------------


def time_translation(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The same lines by both engines, and by `generate` as transformers' pages show it."""
    from paraphrastic_hf.pipelines.engines.registry import make_engine

    model = args.model or random_model(folder)
    lines = Path(args.lines).read_text(encoding="utf-8").splitlines() if args.lines else None
    lines = (lines or ["word12 word7 word99 word3 word5 word8 word1 word2"])[: args.sentences]
    lines = (lines * args.sentences)[: args.sentences]
    found: dict[str, Any] = {"sentences": len(lines), "beams": args.beams, "model": args.model}
    for kind in ("ctranslate2", "transformers"):
        engine = make_engine(
            EngineArguments(
                kind=kind,
                model=str(model),
                beams=args.beams,
                max_tokens=args.tokens,
                batch_tokens=args.batch_tokens,
            ),
            work=folder,
        )
        engine.translate(lines[:2])
        seconds, written = seconds_of(lambda engine=engine: engine.translate(lines))
        words = sum(len(each[0].text.split()) for each in written)
        found[kind] = {"seconds": seconds, "a second": len(lines) / seconds, "words": words}
    plain = plain_generate(args, model)
    plain(lines[:2])
    seconds, _ = seconds_of(lambda: plain(lines))
    found["generate"] = {"seconds": seconds, "a second": len(lines) / seconds}
    for kind in ("transformers", "generate"):
        found[f"times {kind}"] = found[kind]["seconds"] / found["ctranslate2"]["seconds"]
    return found


def plain_generate(args: argparse.Namespace, model: Path | str) -> Callable[[list[str]], list[str]]:
    """Batches in the order of the lines through `generate`, nothing of this package."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModelForSeq2SeqLM.from_pretrained(model).eval()

    def write(lines: list[str]) -> list[str]:
        found: list[str] = []
        for start in range(0, len(lines), args.batch):
            batch = tokenizer(lines[start : start + args.batch], return_tensors="pt", padding=True)
            ids = network.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                num_beams=args.beams,
                max_new_tokens=args.tokens,
            )
            found += tokenizer.batch_decode(ids, skip_special_tokens=True)
        return found

    return write


def random_model(folder: Path) -> Path:
    """A Marian of random weights in the size of OPUS-MT's models."""
    import torch
    from transformers import MarianMTModel

    from paraphrastic_hf.models.seq2seq.marian import marian_config
    from paraphrastic_hf.models.seq2seq.stock import generation_settings
    from paraphrastic_hf.text.marks import MarkedTokenizer
    from paraphrastic_hf.text.word import WordTokenizer

    words = [f"word{number}" for number in range(WORDS)]
    tokenizer = MarkedTokenizer(WordTokenizer.train(words, vocab_size=WORDS), "end")
    config = marian_config(
        tokenizer.vocab_size,
        tokenizer.special.end[0],
        d_model=512,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=2048,
        decoder_ffn_dim=2048,
        max_position_embeddings=512,
    )
    torch.manual_seed(0)
    model = MarianMTModel(config)
    model.generation_config = generation_settings(config)
    tokenizer.save(folder / "random")
    model.save_pretrained(folder / "random")
    return folder / "random"


def time_filters(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Rows a second of each step, over blocks of 2,000, and of making the whole corpus."""
    path = folder / "pairs.tsv"
    write_pairs(path, args.rows)
    found: dict[str, Any] = {"rows": args.rows}
    rows = [
        dict(zip(("reference", "translation"), line.split("\t"), strict=True))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    for row in rows:
        row["source"] = row["reference"]
    for step in make_steps(SCORED):
        step.score(rows[:10])
        blocks = [rows[start : start + 2000] for start in range(0, len(rows), 2000)]
        seconds, _ = seconds_of(lambda step=step, blocks=blocks: [step.score(b) for b in blocks])
        found[step.name] = len(rows) / seconds
    for name, steps in (("filters", FILTERS), ("filters and paraphrase score", SCORED)):
        steps = [step for step in steps if "copy" not in step]  # which reads what is translated
        write_pairs(folder / "few.tsv", 100)
        make_here(recipe_of(folder / "few.tsv", steps), folder / "warm")
        seconds = make_here(recipe_of(path, steps), folder / name)
        found[name] = {key: args.rows / each for key, each in seconds.items()}
        found[name]["all"] = args.rows / sum(seconds.values())
    return found


def time_engine(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """A plain loop of the same steps over the same rows, with one parquet file in the end."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "pairs.tsv"
    write_pairs(path, args.rows)
    filters = [step for step in FILTERS if "copy" not in step]

    def plain() -> None:
        steps, rows = make_steps(filters), []
        with path.open(encoding="utf-8") as file:
            for line in file:
                first, second = line.rstrip("\n").split("\t")
                rows.append({"reference": first, "translation": second})
        for step in steps:
            for start in range(0, len(rows), 2000):
                block = rows[start : start + 2000]
                for row, score in zip(block, step.score(block), strict=True):
                    row[step.name] = score
            rows = [row for row in rows if step.judge(row[step.name]) is None]
        pq.write_table(pa.Table.from_pylist(rows), folder / "plain.parquet", compression="zstd")

    write_pairs(folder / "few.tsv", 100)
    make_here(recipe_of(folder / "few.tsv", filters), folder / "warm")  # imports, and first calls
    loop, _ = seconds_of(plain)
    ours = sum(make_here(recipe_of(path, filters), folder / "ours").values())
    return {"rows": args.rows, "plain": loop, "ours": ours, "times": ours / loop}


def measure_memory(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The largest memory of a process that makes a corpus, for each size."""
    found: dict[str, Any] = {}
    for size in args.sizes:
        text = subprocess.run(
            [sys.executable, __file__, "--peak", str(size)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        found[f"{size:,}"] = json.loads(text)
    return found


def peak(rows: int) -> dict[str, float]:
    """Make a corpus of so many rows here; megabytes before and at most."""
    filters = [step for step in FILTERS if "copy" not in step and "duplicates" not in step]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_pairs(folder / "pairs.tsv", rows)
        before = most_memory()
        make_here(recipe_of(folder / "pairs.tsv", filters, tasks=16), folder / "out")
        return {"before MB": before, "most MB": most_memory()}


def most_memory() -> float:
    """The most memory that this process has had so far, in megabytes (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


PARTS: dict[str, Callable[[argparse.Namespace, Path], dict[str, Any]]] = {
    "translation": time_translation,
    "filters": time_filters,
    "engine": time_engine,
    "memory": measure_memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--output", help="the folder of the results: corpus.json")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--model", help="a Marian (default: random weights)")
    parser.add_argument("--lines", help="lines to translate (default: words of the random model)")
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--beams", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=20)
    parser.add_argument("--batch-tokens", type=int, default=1024, help="of CTranslate2")
    parser.add_argument("--batch", type=int, default=64, help="lines of `generate`")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000, 5_000_000])
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peak:
        print(json.dumps(peak(args.peak)))
        return
    found: dict[str, Any] = {"load_average_before": os.getloadavg()[0], "cores": os.cpu_count()}
    for part in args.parts:
        with tempfile.TemporaryDirectory() as folder:
            found[part] = PARTS[part](args, Path(folder))
        print(part, json.dumps(found[part], indent=2))
    if args.output:
        Path(args.output).mkdir(parents=True, exist_ok=True)
        write_json(Path(args.output) / "corpus.json", found)


if __name__ == "__main__":
    main()
