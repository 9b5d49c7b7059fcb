"""Write a small copy of a parser for the package, from a run of `packaged-parser`.

    python recipes/scpn-2018/pack_parser.py runs/packaged-parser src/paraphrastic_hf/assets/parser

Matrices are stored in int8 and tables in int4. The table of word pieces has only the rows that
training changed (`encoders/storage/expanded.py` reads the format).
"""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from paraphrastic_hf.encoders.storage.locate import packaged_folder
from paraphrastic_hf.encoders.storage.packing import packed, unpacked
from paraphrastic_hf.hub.cards import render, write_card
from paraphrastic_hf.hub.licenses import checked_license, source_licenses
from paraphrastic_hf.hub.trained import TrainedModel
from paraphrastic_hf.io.files import WEIGHTS, open_to_readers, read_json, write_json

BASE = "english"
FROM_BASE = "encoder.parts.0.embedding.weight"
TABLES = (FROM_BASE, "encoder.parts.1.embedding.weight")
NOT_PACKED = ("ends",)  # two rows
COPIED = (
    *("recipe.yaml", "paraphrastic_tokenizer.json", "tokenizers/0/paraphrastic_tokenizer.json"),
    *("tokenizers/1/ngrams.json", "tokenizers/1/tokenizer_config.json"),
)
LICENSES = {"gum open": "CC BY-SA 3.0 (with CC BY 2.5 and CC BY 4.0)"}  # GUM's LICENSE.txt
SUMMARY = (
    "Constituency trees of English, packaged with paraphrastic_hf. It was trained only on texts "
    "whose licenses allow its release: academic writing, biographies, court transcripts, "
    "interviews, news and travel guides."
)


def packed_tensors(tensors: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the tensors of a packed parser."""
    base = unpacked(load_file(packaged_folder(BASE) / WEIGHTS)["embedding.packed"])
    found = {}
    for name, tensor in tensors.items():
        if name == FROM_BASE:
            rows = np.flatnonzero((tensor != base).any(1))
            found[f"{name}.rows"] = rows.astype(np.int32)
            tensor = tensor[rows]
        if tensor.ndim == 2 and name not in NOT_PACKED:
            found[f"{name}.packed"] = packed(tensor, "int4" if name in TABLES else "int8")
        else:
            found[name] = tensor
    return found


def card(folder: Path) -> str:
    """Return the card of the packed parser in a folder."""
    trained = TrainedModel.read(folder)
    sources = source_licenses(trained, stated=LICENSES)
    return render(
        trained,
        title="paraphrastic parser",
        sources=sources,
        license=checked_license(sources, None, private=False),
        summary=SUMMARY,
        languages=["en"],
        command="paraphrastic train scpn-2018/packaged-parser --data DATA --output runs/parser",
    )


def start_folder(names: Sequence[str], **settings: object) -> tuple[Path, Path]:
    """Read the arguments RUN and OUTPUT, and write all but weights and card to the output.

    `names` are the files to copy. `settings` are added to the model's configuration.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path, help="folder of the run")
    parser.add_argument("output", type=Path, help="folder to write")
    args = parser.parse_args()
    run, output = args.run, args.output
    for name in names:
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run / name, output / name)
    for name in ("config.json", "tokenizer_config.json", "run.json"):
        record = read_json(run / name)
        for key in ("auto_map", "weights_sha256"):  # files with code, weights before packing
            record.pop(key, None)
        more = {"packed": True, **settings} if name == "config.json" else {}
        write_json(output / name, {**record, **more})
    return run, output


def write_weights(tensors: dict[str, np.ndarray], output: Path) -> None:
    save_file(tensors, output / WEIGHTS)
    open_to_readers(output / WEIGHTS)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    print(f"{output}: {size / 1e6:.1f} MB")


def main() -> None:
    run, output = start_folder(COPIED, base=BASE)
    write_weights(packed_tensors(load_file(run / WEIGHTS)), output)
    write_card(output, card(output))


if __name__ == "__main__":
    main()
