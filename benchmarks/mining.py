"""Speed, memory and recall of mining bitext, compared with other libraries.

A tenth of the lines of both sides are sentence pairs of `--text` (English, and the other languages
mixed), shuffled. The other lines join the first half of one sentence and the second half of
another, so they look like sentences and have no translation. The model may have been trained on the
pairs, because this measures search, not the model.

Equal for all: unit float32 vectors in one .npy file per side; k = 4 nearest neighbors in both
directions; then the same ratio margins, union of candidates and competitive linking, which are not
timed. Each contender runs in a fresh process. Its peak memory includes imports and vectors.

* `float32` and `bfloat16` are ours, `mining.neighbors.nearest` with `--memory` MB and memory-mapped
  files.
* `semantic_search` is sentence-transformers', called once per direction, with its default chunks.
* `faiss-flat` and `faiss-ivf` are `mining.approximate.nearest_by_faiss`, including training.
* `command` is `paraphrastic mine` in bfloat16, from text to pairs.

`neighbors` is the share of the exact neighbors that were found. They are from float32, or from
bfloat16 if float32 did not run. `true pairs` is the share of the true pairs among the mined ones.
`precision` is the share of true pairs among the best N mined ones, where N is the number of true
pairs.

Needs: pip install 'paraphrastic-hf[mining]'

Quick test: --lines 500
"""

import os
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common.report import DATA, Table, options, save, settings
from common.timing import fresh, peak_mb, timed

K = 4
MODEL = "multilingual"
TRUE_SHARE = 0.1  # share of the lines with a translation
OURS = ("float32", "bfloat16")
CONTENDERS = (*OURS, "semantic_search", "faiss-flat", "faiss-ivf", "command")
LANGUAGES = ("fr", "de", "es", "tr", "ar", "zh")


def make_text(folder: Path, files: list[Path], lines: int, share: float, seed: int = 1) -> None:
    """Write the two sides, and for each source line the number of its translation."""
    from paraphrastic_hf.io.lines import text_lines

    pairs: dict[str, str] = {}
    for file in files:
        for _, line in text_lines(file):
            english, other, *_ = line.split("\t")
            if len(english.split()) > 3:
                pairs.setdefault(other, english)
    by_english = {english: other for other, english in pairs.items()}
    rng = random.Random(seed)
    chosen = rng.sample(sorted(by_english.items()), min(len(by_english), int(lines * share)))
    sides: tuple[list[str], list[str]] = ([b for _, b in chosen], [a for a, _ in chosen])
    texts = (sorted(by_english.values()), sorted(by_english))
    for side, words in zip(sides, ([t.split() for t in text] for text in texts), strict=True):
        known = set(side)
        while len(side) < lines:
            first, second = rng.choice(words), rng.choice(words)
            text = " ".join([*first[: len(first) // 2 + 1], *second[len(second) // 2 :]])
            if text not in known:
                known.add(text)
                side.append(text)
    order = np.random.default_rng(seed).permutation(lines)
    place = np.argsort(order)  # target i is written to line place[i]
    folder.mkdir(parents=True)
    truth = np.full(lines, -1)
    truth[: len(chosen)] = place[: len(chosen)]
    np.save(folder / "truth.npy", truth)
    (folder / "source.txt").write_text("\n".join(sides[0]) + "\n", encoding="utf-8")
    shuffled = [sides[1][i] for i in order]
    (folder / "target.txt").write_text("\n".join(shuffled) + "\n", encoding="utf-8")


def encode(folder: Path, model: str) -> None:
    """Write unit vectors of both sides."""
    from paraphrastic_hf import SentenceEncoder

    encoder = SentenceEncoder.from_pretrained(model)
    for side in ("source", "target"):
        lines = (folder / f"{side}.txt").read_text(encoding="utf-8").split("\n")[:-1]
        np.save(folder / f"{side}.npy", encoder.encode(lines, normalize_embeddings=True))


def search(name: str, folder: Path, memory: float) -> dict[str, float]:
    """Find the neighbors and write the linked pairs, and return seconds and peak memory."""
    from paraphrastic_hf.mining.approximate import nearest_by_faiss
    from paraphrastic_hf.mining.bitext import link
    from paraphrastic_hf.mining.neighbors import Neighbors, nearest
    from paraphrastic_hf.mining.vectors import UnitRows

    mapped = "r" if name in OURS else None
    vectors = [np.load(folder / f"{side}.npy", mmap_mode=mapped) for side in ("source", "target")]
    if name == "bfloat16":
        import torch  # noqa: F401
    if name == "semantic_search":
        from sentence_transformers.util import semantic_search

    def both_ways() -> list[Neighbors]:
        if name == "semantic_search":
            found = []
            for queries, corpus in (vectors, vectors[::-1]):
                hits = semantic_search(queries, corpus, top_k=K)
                scores, ids = (
                    np.array([[hit[key] for hit in row] for row in hits])
                    for key in ("score", "corpus_id")
                )
                found.append(Neighbors(scores.astype(np.float32), ids))
            return found
        rows = [UnitRows(side) for side in vectors]
        if name in OURS:
            return list(nearest(*rows, K, memory=memory, precision=name))
        return list(nearest_by_faiss(*rows, K, kind=name.removeprefix("faiss-")))

    seconds, found = timed(both_ways)
    row = {"seconds": seconds, "peak MB": peak_mb()}
    pairs = link(*found)
    ids = {f"ids{number}": side.ids for number, side in enumerate(found)}
    np.savez(folder / f"{name}.npz", source=pairs.source, target=pairs.target, **ids)
    return row


def mine(folder: Path, model: str, memory: float) -> dict[str, float]:
    """Run `paraphrastic mine`, and return seconds and peak memory."""
    import pyarrow.parquet as pq

    from paraphrastic_hf.cli.main import main as command

    output = folder / "pairs.parquet"
    sides = [str(folder / f"{side}.txt") for side in ("source", "target")]
    more = ["--model", model, "--precision", "bfloat16", "--memory", str(memory), "--quiet"]
    seconds, _ = timed(command, ["mine", *sides, "--output", str(output), *more])
    row = {"seconds": seconds, "peak MB": peak_mb()}
    table = pq.read_table(output)
    lines = {side: table[f"{side}_line"].to_numpy() - 1 for side in ("source", "target")}
    np.savez(folder / "command.npz", **lines)
    return row


def judge(name: str, folder: Path) -> dict[str, float]:
    """Return percentages: exact neighbors found, true pairs found, and precision."""
    found, truth = np.load(folder / f"{name}.npz"), np.load(folder / "truth.npy")
    exact = next((each for each in OURS if (folder / f"{each}.npz").exists()), name)
    shares = {}
    if "ids0" in found and exact != name:
        reference = np.load(folder / f"{exact}.npz")
        hits = [
            (found[f"ids{side}"][:, [rank]] == reference[f"ids{side}"]).any(1).mean()
            for side in (0, 1)
            for rank in range(K)
        ]
        shares["% neighbors"] = 100 * float(np.mean(hits))
    number = int((truth >= 0).sum())
    is_true = truth[found["source"]] == found["target"]
    shares["% true pairs"] = 100 * float(is_true.sum() / number)
    return shares | {"% precision": 100 * float(is_true[:number].mean())}


def main() -> None:
    parser = options(__doc__)
    option = parser.add_argument
    files = [DATA / "train" / f"en-{each}" / "tatoeba.tsv.xz" for each in LANGUAGES]
    option("--text", type=Path, nargs="+", default=files, help="TSV: English, other language")
    option("--lines", type=int, nargs="+", default=[30_000], help="lines per side")
    option("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    option("--memory", type=float, default=1024, help="memory for ours, MB")
    args = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": str(args.threads), "HF_HUB_OFFLINE": "1"}
    packages = ("torch", "sentence-transformers", "faiss-cpu")
    results: dict[str, Any] = {"settings": settings(args, *packages), "measured": {}}
    with tempfile.TemporaryDirectory() as work:
        for lines in args.lines:
            folder = Path(work) / str(lines)
            make_text(folder, args.text, lines, TRUE_SHARE)
            encode(folder, MODEL)
            for name in args.contenders:
                load = {"load_average_before": os.getloadavg()[0]}
                if name == "command":
                    row = fresh(mine, folder, MODEL, args.memory)
                else:
                    row = fresh(search, name, folder, args.memory)
                results["measured"][f"{lines:,} lines, {name}"] = row | judge(name, folder) | load
                print(lines, name, row, flush=True)
    save(args, results, Table("mining", results["measured"], ",.1f"))


if __name__ == "__main__":
    main()
