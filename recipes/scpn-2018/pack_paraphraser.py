"""Write an int8 copy of a paraphraser for the package, from a run of `english-paraphraser`.

python recipes/scpn-2018/pack_paraphraser.py runs/paraphraser src/paraphrastic_hf/assets/paraphraser
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from paraphrastic_hf.encoders.storage.packing import packed
from paraphrastic_hf.generation.templates import TEMPLATES, load_templates, save_templates
from paraphrastic_hf.io.files import WEIGHTS, open_to_readers, read_json, write_json

COPIED = (
    *("recipe.yaml", "generation_config.json", "paraphrastic_tokenizer.json"),
    *("spiece.model", "tokenizer.json"),
)
MOST_TEMPLATES = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of the run")
    parser.add_argument("output", type=Path, help="folder to write")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        shutil.copyfile(args.run / name, args.output / name)
    counts = list(load_templates(args.run).items())[:MOST_TEMPLATES]
    save_templates(args.output, counts)
    config, tokenizer, run = (
        read_json(args.run / name) for name in ("config.json", "tokenizer_config.json", "run.json")
    )
    for settings in (config, tokenizer):
        settings.pop("auto_map", None)  # names files with code
    run.pop("weights_sha256", None)
    write_json(args.output / "config.json", {**config, "packed": True})
    write_json(args.output / "tokenizer_config.json", tokenizer)
    write_json(args.output / "run.json", run)
    found: dict[str, np.ndarray] = {}
    for name, tensor in load_file(args.run / WEIGHTS).items():
        is_matrix = tensor.ndim == 2
        found[f"{name}.packed" if is_matrix else name] = (
            packed(tensor, "int8") if is_matrix else tensor
        )
    save_file(found, args.output / WEIGHTS)
    open_to_readers(args.output / WEIGHTS)
    size = sum(path.stat().st_size for path in args.output.iterdir())
    print(f"{args.output}: {size / 1e6:.1f} MB, with {TEMPLATES}")


if __name__ == "__main__":
    main()
