"""Small files of every kind that the package reads, for `damaged.py`."""

import gzip
import io
import lzma
import pickle
import re
import tarfile
import tempfile
import zipfile
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch

from paraphrastic_hf import SentenceEncoder, load_recipe
from paraphrastic_hf.config.recipe import to_yaml
from paraphrastic_hf.conversion.convert import convert
from paraphrastic_hf.conversion.release import Choices
from paraphrastic_hf.corpora.readers.words import load_vectors
from paraphrastic_hf.evaluation.page import merge, write_page
from paraphrastic_hf.io.archives import unpack
from paraphrastic_hf.io.files import write_json
from paraphrastic_hf.io.pairs import read_pairs
from tests.data_root import write_supervised
from tests.hub.families import TEXTS as MODEL_TEXTS
from tests.hub.families import loader, outputs
from tests.texts import SENTENCES
from tests.trained import FAMILIES, trained

RECIPES = Path(__file__).parents[2] / "recipes"
TEXTS = [f"{text} {number}" for number in range(9) for text in SENTENCES]


@dataclass(frozen=True)
class Subject:
    """Files to damage.

    Attributes:
        make: Function that writes good files to an empty folder.
        read: Function that returns their content or raises AssertionError if it is incomplete.
    """

    make: Callable[[Path], None]
    read: Callable[[Path], Any]


def make_model(family, folder):
    """Train a tiny model of a family, and save it without the files of its run."""
    with tempfile.TemporaryDirectory() as name:
        root = write_supervised(Path(name, "data"))
        model = loader(family).from_pretrained(trained(FAMILIES[family], Path(name), root))
        model.save_pretrained(folder)


def read_model(family, folder):
    found = outputs(family, loader(family).from_pretrained(folder))
    assert len(found) == len(MODEL_TEXTS)
    return found


VECTORS = "".join(
    f"word{n} {' '.join(f'{x:.3f}' for x in np.random.default_rng(n).normal(size=8))}\n"
    for n in range(300)
).encode()
PAIRS = "".join(f"{a}\t{b}\n" for a, b in pairwise(TEXTS)).encode()
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".xz": lzma.compress,
}


def in_zip(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def write_tar(name, folder):
    path, members = folder / name, MEMBERS
    with tarfile.open(path, f"w:{path.suffix[1:]}" if path.suffix != ".tar" else "w") as packed:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            packed.addfile(info, io.BytesIO(data))


def read_vectors(folder):
    (path,) = folder.iterdir()
    words, table = load_vectors(path)
    assert np.isfinite(table).all()
    assert len(words) == len(set(words)) == len(table)
    return words, table


def pairs_of(folder):
    (path,) = folder.iterdir()
    pairs = read_pairs(path)
    assert all(a.strip() and b.strip() for a, b in pairs)
    return pairs


def unpacked(folder):
    """Return the content of an archive, or check that no files are left if it is refused."""
    (path,) = folder.iterdir()
    target = folder / "out"
    try:
        unpack(path, target)
    except BaseException:
        left = [each.name for each in folder.iterdir() if each.suffix != ".lock"]
        assert left == [path.name], left
        raise
    files = sorted(each for each in target.rglob("*") if each.is_file())
    return [(each.relative_to(target).as_posix(), each.read_bytes()) for each in files]


def converted(folder):
    """Return vectors of a converted release, or check that no files are left."""
    (path,) = folder.iterdir()
    target = folder / "out"
    try:
        convert(path, target, Choices(kind="words"))
    except BaseException:
        assert [each.name for each in folder.iterdir()] == [path.name]
        raise
    return SentenceEncoder.from_pretrained(target, num_threads=1).encode(SENTENCES)


def release():
    vocabulary = sorted({word for text in SENTENCES for word in text.lower().split()})[:80]
    table = np.random.default_rng(0).normal(size=(len(vocabulary), 6)).astype(np.float32)
    return {word: row for row, word in enumerate(vocabulary)}, table


def make_theano(folder):
    rows, table = release()
    value = [table, rows]
    (folder / "model.pickle").write_bytes(pickle.dumps(value, 2))


def make_torch(folder, is_zip):
    rows, table = release()
    value = {
        "state_dict": {"embedding.weight": torch.from_numpy(table)},
        "vocab": rows,
        "args": Namespace(model="avg", pool="mean", zero_unk=1, ngrams=0, lower_case=1),
    }
    torch.save(value, folder / "model.pt", _use_new_zipfile_serialization=is_zip)


def make_dataset(folder):
    sides = {"a": SENTENCES, "b": SENTENCES[::-1]}
    datasets.Dataset.from_dict(sides).save_to_disk(str(folder / "pairs"))


def make_results(folder):
    for model in ("one", "two"):
        rows = [{"group": "2012", "name": "MSRpar", "size": 750, "scores": {"pearson": 61.5}}]
        results = {
            **{"model": model, "suite": "sts", "summary": "STS", "unit": "Pearson x 100"},
            **{"headline": {"2012": 61.5}, "papers": {"thesis": {"2012": 60.5}}, "rows": rows},
            **{"notes": ["a note"], "skipped": {"2013": "no file"}, "not_applicable": {}},
            **{"settings": {"weights": "abc"}, "seconds": 0.2},
        }
        (folder / model).mkdir()
        write_json(folder / model / "sts.json", results)


def report(folder):
    """Return the pages of a report, or check that no files are left."""
    try:
        sections = merge([folder / "one", folder / "two"])
        pages = write_page(sections, folder / "report")
    except BaseException:
        assert not (folder / "report").exists()
        raise
    return [re.sub('src="[^"]*"', "", page.read_text()) for page in pages]


def recipe(folder):
    (path,) = folder.iterdir()
    return to_yaml(load_recipe(path))


def writes(name, data):
    def write(folder):
        (folder / name).write_bytes(data)

    return write


MEMBERS = {"a.txt": PAIRS, "deep/b.txt": VECTORS, "deep/empty": b""}
SUBJECTS: dict[str, Subject] = {
    **{name: Subject(partial(make_model, name), partial(read_model, name)) for name in FAMILIES},
    **{
        f"vectors.txt{end}": Subject(writes(f"v.txt{end}", pack(VECTORS)), read_vectors)
        for end, pack in PACKED.items()
    },
    "vectors.zip": Subject(lambda f: in_zip(f / "v.zip", {"v.txt": VECTORS}), read_vectors),
    **{
        f"pairs.tsv{end}": Subject(writes(f"p.tsv{end}", pack(PAIRS)), pairs_of)
        for end, pack in PACKED.items()
    },
    "saved dataset": Subject(make_dataset, pairs_of),
    "Theano release": Subject(make_theano, converted),
    "PyTorch release": Subject(lambda folder: make_torch(folder, True), converted),
    "PyTorch release, older": Subject(lambda folder: make_torch(folder, False), converted),
    "archive.zip": Subject(lambda folder: in_zip(folder / "a.zip", MEMBERS), unpacked),
    **{
        f"archive.tar{end}": Subject(partial(write_tar, f"a.tar{end}"), unpacked)
        for end in ("", ".gz", ".xz", ".bz2")
    },
    "recipe": Subject(
        writes("r.yaml", (RECIPES / "paranmt-2018" / "blstm.yaml").read_bytes()), recipe
    ),
    "results": Subject(make_results, report),
}
