"""Distances between languages, from URIEL's features or from a given table (thesis, 5.3.2).

Littell et al. 2017. URIEL and lang2vec: Representing languages as typological, geographical, and
phylogenetic vectors. EACL. Their distances between languages are cosine distances of the vectors of
features. These vectors are read from files of the package `lang2vec`, of which no code is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.io.files import read_json
from paraphrastic_hf.io.lines import number_in, text_lines

ENGLISH = "eng"
ALL = "features"
FILES = {  # the file, and how names of features begin; URIEL predicts the values that are missing
    "syntax": ("feature_predictions.npz", "S_"),
    "phonology": ("feature_predictions.npz", "P_"),
    "inventory": ("feature_predictions.npz", "INV_"),
    "phylogeny": ("family_features.npz", ""),
    "geography": ("geocoord_features.npz", ""),
}
CITED = (
    "cosine distances of URIEL's vectors (Littell et al., 2017); features: syntax, phonology, "
    "inventory, phylogeny and geography together"
)
WAY_OUT = (
    "pip install 'paraphrastic-hf[languages]', or give a table of distances (--distances FILE)"
)
MACRO = {  # codes of macrolanguages and newer codes, for languages that URIEL lists by another
    "ber": "tzm", "cmn": "zho", "zsm": "msa",
}  # fmt: skip


def uriel_distances(
    names: Iterable[str], folder: str | Path | None = None
) -> dict[str, dict[str, float]]:
    """Compute cosine distances of languages to English, by kind of feature.

    `features` is the distance of the vectors of all kinds put together; the other names are those
    of the kinds.

    Args:
        names: Languages, by ISO 639-1 or 639-3 codes.
        folder: A folder with the data of `lang2vec`; None for that of the installed package.

    Returns:
        The distances, 0 to 2, by language and kind, without languages that URIEL does not know.
    """
    folder = _installed() if folder is None else Path(folder)
    try:
        codes = read_json(folder / "letter_codes.json")
        wanted = {name: codes.get(name, MACRO.get(name, name)) for name in names}
        own = {**wanted, ENGLISH: ENGLISH}
        vectors = {
            kind: _vectors(folder / file, prefix, own) for kind, (file, prefix) in FILES.items()
        }
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{folder} does not hold lang2vec's data ({error}); {WAY_OUT}") from error
    found: dict[str, dict[str, float]] = {}
    for name in wanted:
        if all(name in of_kind for of_kind in vectors.values()):
            pairs = [(of_kind[name], of_kind[ENGLISH]) for of_kind in vectors.values()]
            whole = [np.concatenate(side) for side in zip(*pairs, strict=True)]
            each = {
                kind: _cosine_distance(*pair) for kind, pair in zip(vectors, pairs, strict=True)
            }
            found[name] = {ALL: _cosine_distance(*whole), **each}
    return found


def read_distances(path: str | Path) -> dict[str, dict[str, float]]:
    """Read distances to English from a TSV file.

    Its first line is `language` and the names of the kinds of distance; each further line is of one
    language.

    Returns:
        The distances by language and kind.
    """
    rows = [(number, line.split("\t")) for number, line in text_lines(Path(path)) if line.strip()]
    if not rows or len(rows[0][1]) < 2:
        raise DataError(
            f"{path} is no table of distances: its first line must be `language` and one or more "
            "kinds of distance, with tabs between"
        )
    header = rows[0][1]
    found = {}
    for number, row in rows[1:]:
        if len(row) != len(header):
            columns = counted(len(row), "column")
            raise DataError(f"{path}:{number} has {columns}, expected {len(header)}")
        values = [number_in(value, f"{path}:{number}") for value in row[1:]]
        found[row[0]] = dict(zip(header[1:], values, strict=True))
    return found


def _installed() -> Path:
    """The data of the package, which brings a script of its own name beside ours: `import` would
    find that first."""
    try:
        return Path(str(distribution("lang2vec").locate_file("lang2vec/data")))
    except PackageNotFoundError as error:
        raise DataError(f"language distances come from the package lang2vec: {WAY_OUT}") from error


def _vectors(path: Path, prefix: str, names: Mapping[str, str]) -> dict[str, np.ndarray]:
    """The features with a prefix, (features,), of languages by the names they were asked for."""
    with np.load(path, allow_pickle=False) as arrays:
        place = {str(code): row for row, code in enumerate(arrays["langs"])}
        chosen = [str(feature).startswith(prefix) for feature in arrays["feats"]]
        data = arrays["data"][:, :, 0]
    return {name: data[place[code]][chosen] for name, code in names.items() if code in place}


def _cosine_distance(first: np.ndarray, second: np.ndarray) -> float:
    first, second = first.astype(np.float64), second.astype(np.float64)
    norms = float(np.linalg.norm(first) * np.linalg.norm(second))
    return 1 - float(first @ second) / norms if norms else float("nan")
