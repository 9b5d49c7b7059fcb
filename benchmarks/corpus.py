"""Time and memory of `paraphrastic corpus make`, by part.

Times are processor seconds, so other programs matter little.

* **translation**: sentences per second with CTranslate2 in int8, with the engine `transformers`,
  and with plain `generate` in float32. The Marian is `--model`, or has random weights in the size
  of OPUS-MT's models and writes `--tokens` tokens.
* **filters**: rows per second of the steps without a model, and of the paraphrase score.
* **engine**: ours, relative to a plain loop of the same steps that keeps no rejects and cannot
  resume.
* **memory**: peak memory for corpora of increasing size (`--sizes`).

Quick test: --sentences 2 --rows 1000 --sizes 1000
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from common.report import options, run_parts, save
from common.timing import fresh, peak_mb, timed

from paraphrastic_hf.pipelines.deal import deal
from paraphrastic_hf.pipelines.recipe import CorpusRecipe, EngineArguments, corpus_recipe
from paraphrastic_hf.pipelines.stages import phases_of
from paraphrastic_hf.pipelines.steps.registry import make_steps

WORDS = 20_000
FILTERS: list[Any] = [
    {"words": {"of": "longer", "at_most": 30}},
    {"length_ratio": {"at_most": 2}},
    {"copy": {}},
    {"duplicates": {}},
    {"overlap": {"at_most": 0.7}},
]
WITHOUT_ENGINE = [step for step in FILTERS if "copy" not in step]  # copy reads translations
SCORED = [*FILTERS, {"paraphrase_score": {"model": "english"}}]


processor_seconds = partial(timed, clock=time.process_time)


def write_pairs(path: Path, rows: int) -> None:
    """Write random sentences of 12 words, each with one that shares half of its words."""
    choice = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(rows):
            first = [f"word{int(choice.paretovariate(0.5)) % WORDS}" for _ in range(12)]
            second = first[:6] + [f"word{choice.randrange(WORDS)}" for _ in range(6)]
            file.write(f"{' '.join(first)}\t{' '.join(second)}\n")


def recipe_of(path: Path, steps: list[Any], tasks: int = 4) -> CorpusRecipe:
    """Return a recipe without an engine."""
    source = {"kind": "corpus", "data": {"sources": [str(path)]}}
    return corpus_recipe({**source, "steps": steps, "make": {"tasks": tasks}})


def make_here(recipe: CorpusRecipe, output: Path) -> dict[str, float]:
    """Make a corpus in this process, and return the seconds of dealing and of the stages."""
    tasks = recipe.make.tasks
    dealing, counts = processor_seconds(deal, recipe.data, output / "work" / "rows", tasks)

    def run() -> None:
        for task in range(tasks):
            flow: Any = None
            for stage in phases_of(recipe, output, counts, None)[0]:
                flow = stage(flow, task, tasks)
            list(flow)

    return {"dealing": dealing, "stages": processor_seconds(run)[0]}


def time_translation(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Translate the same lines with both engines, and with plain `generate`."""
    from paraphrastic_hf.pipelines.engines.registry import make_engine

    model = args.model or random_model(folder)
    lines = args.lines.read_text(encoding="utf-8").splitlines() if args.lines else None
    lines = (lines or ["word12 word7 word99 word3 word5 word8 word1 word2"])[: args.sentences]
    lines = (lines * args.sentences)[: args.sentences]
    found: dict[str, Any] = {"sentences": len(lines)}
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
        seconds, written = processor_seconds(engine.translate, lines)
        words = sum(len(each[0].text.split()) for each in written)
        found[kind] = {"seconds": seconds, "a second": len(lines) / seconds, "words": words}
    plain = plain_generate(args, model)
    plain(lines[:2])
    seconds, _ = processor_seconds(plain, lines)
    found["generate"] = {"seconds": seconds, "a second": len(lines) / seconds}
    for kind in ("transformers", "generate"):
        found[f"times {kind}"] = found[kind]["seconds"] / found["ctranslate2"]["seconds"]
    return found


def plain_generate(args: argparse.Namespace, model: Path | str) -> Callable[[list[str]], list[str]]:
    """Return a function that translates batches in line order with `generate`."""
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
    """Save a Marian with random weights, in the size of OPUS-MT's models."""
    import torch
    from transformers import MarianMTModel

    from paraphrastic_hf.models.seq2seq.stock import generation_settings, marian_config
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
    """Return rows per second of each step, in blocks of 2,000, and of making the whole corpus."""
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
        seconds, _ = processor_seconds(list, map(step.score, blocks))
        found[step.name] = len(rows) / seconds
    for name, steps in (("filters", FILTERS), ("filters and paraphrase score", SCORED)):
        steps = [step for step in steps if "copy" not in step]
        write_pairs(folder / "few.tsv", 100)
        make_here(recipe_of(folder / "few.tsv", steps), folder / "warm")
        seconds = make_here(recipe_of(path, steps), folder / name)
        found[name] = {key: args.rows / each for key, each in seconds.items()}
        found[name]["all"] = args.rows / sum(seconds.values())
    return found


def time_engine(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return the seconds of our engine and of a plain loop that writes one parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "pairs.tsv"
    write_pairs(path, args.rows)

    def plain() -> None:
        steps, rows = make_steps(WITHOUT_ENGINE), []
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
    make_here(
        recipe_of(folder / "few.tsv", WITHOUT_ENGINE), folder / "warm"
    )  # imports, and first calls
    loop, _ = processor_seconds(plain)
    ours = sum(make_here(recipe_of(path, WITHOUT_ENGINE), folder / "ours").values())
    return {"rows": args.rows, "plain": loop, "ours": ours, "times": ours / loop}


def measure_memory(args: argparse.Namespace, _: Path) -> dict[str, float]:
    """Return the peak memory of a process that makes a corpus, for each size."""
    return {f"{size:,} rows, peak MB": fresh(peak_of, size) for size in args.sizes}


def peak_of(rows: int) -> float:
    """Make a corpus in this process, and return its peak memory."""
    filters = [step for step in WITHOUT_ENGINE if "duplicates" not in step]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_pairs(folder / "pairs.tsv", rows)
        make_here(recipe_of(folder / "pairs.tsv", filters, tasks=16), folder / "out")
    return peak_mb()


def in_a_folder(part: Callable[..., Any], args: argparse.Namespace) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return part(args, Path(folder))


def main() -> None:
    found = (time_translation, time_filters, time_engine, measure_memory)
    names = ("translation", "filters", "engine", "memory")
    parts = {name: partial(in_a_folder, part) for name, part in zip(names, found, strict=True)}
    parser = options(__doc__, threads=None, parts=parts)
    option = parser.add_argument
    sizes = [100_000, 1_000_000, 5_000_000]
    option("--model", type=Path, help="Marian model (default: random weights)")
    option("--lines", type=Path, help="lines to translate (default: words of the random model)")
    option("--sentences", type=int, default=64, help="lines to translate")
    option("--beams", type=int, default=5, help="beam size")
    option("--tokens", type=int, default=20, help="maximum tokens of a translation")
    option("--batch-tokens", type=int, default=1024, help="tokens per batch of CTranslate2")
    option("--batch", type=int, default=64, help="lines per batch of `generate`")
    option("--rows", type=int, default=100_000, help="rows for filters and engine")
    option("--sizes", type=int, nargs="+", default=sizes, help="rows for memory")
    args = parser.parse_args()
    save(args, run_parts(args, parts, "torch", "transformers", "ctranslate2"))


if __name__ == "__main__":
    main()
