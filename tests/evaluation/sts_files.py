"""Tiny STS files in the official layout, made from the demo pairs."""

from pathlib import Path

from paraphrastic_hf.corpora.readers.sts_files import STS17_TRACKS, STS_DATASETS

PAIRS = Path(__file__).parents[2] / "recipes" / "demo" / "pairs.tsv"


def write_sts(folder):
    """Write every file of the suites `sts` and `development`: 6 paraphrases (5) and 6 other
    pairs (0)."""
    rows = [line.split("\t") for line in PAIRS.read_text().splitlines()]
    lines = [f"{a}\t{b}" for a, b in rows[:6]] + [
        f"{rows[i][0]}\t{rows[i + 9][1]}" for i in range(6)
    ]
    gold = [5.0] * 6 + [0.0] * 6
    for year, names in STS_DATASETS.items():
        prefix = "STS2016" if year == "2016" else "STS"
        for name in names:
            write_lines(folder / f"sts{year[2:]}" / f"{prefix}.input.{name}.txt", lines)
            write_lines(folder / f"sts{year[2:]}" / f"{prefix}.gs.{name}.txt", gold)
    for track in STS17_TRACKS.values():
        write_lines(folder / "sts17" / "STS2017.eval.v1.1" / f"STS.input.{track}.txt", lines)
        write_lines(folder / "sts17" / "STS2017.gs" / f"STS.gs.{track}.txt", gold)
    for split in ("dev", "test"):
        table = [
            f"genre\tfile\t2012\t1\t{score}\t{line}"
            for line, score in zip(lines, gold, strict=True)
        ]
        write_lines(folder / "stsbenchmark" / f"sts-{split}.csv", table)
    within = [max(1.0, score) for score in gold]  # for scales that start at 1
    sick = [f"1\t{line}\t{score}\tNEUTRAL" for line, score in zip(lines, within, strict=True)]
    write_lines(folder / "sick2014" / "SICK_trial.txt", ["pair_ID\tA\tB\tscore\tlabel", *sick])
    phrases = [
        f"{line}\t{score}".replace("\t", "|||") for line, score in zip(lines, within, strict=True)
    ]
    write_lines(folder / "ppdb_annotated" / "ppdb_dev.txt", phrases)
    return folder


def write_lines(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
