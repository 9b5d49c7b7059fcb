"""Distances between languages, from URIEL's features or from a table (thesis, 5.3.2).

Littell et al. 2017. URIEL and lang2vec: Representing languages as typological, geographical, and
phylogenetic vectors. EACL. Distances are cosine distances between feature vectors, read from the
data files of the package `lang2vec`.
"""

from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.io.files import read_json
from paraphrastic_hf.io.lines import number_in, text_lines

ENGLISH = "eng"
ALL = "features"
FILES = {  # kind -> file and prefix of the feature names. URIEL predicts missing values.
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
FIX = (
    "Run pip install 'paraphrastic-hf[languages]', or give a table of distances (--distances FILE)"
)
MACRO = {  # macrolanguages and newer codes -> the code that URIEL uses
    "ber": "tzm", "cmn": "zho", "zsm": "msa",
}  # fmt: skip


def uriel_distances(
    names: Iterable[str], folder: str | Path | None = None
) -> dict[str, dict[str, float]]:
    """Compute the cosine distance (0 to 2) of each language to English, by kind of feature.

    The kind `features` concatenates the vectors of all kinds. Languages (ISO 639-1 or 639-3 codes)
    that URIEL lacks are left out. `folder` has the data of `lang2vec` (default: the installed one).
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
        raise DataError(f"{folder} does not contain lang2vec's data ({error}). {FIX}") from error
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
    """Read distances to English from a TSV file, by language and kind.

    The header has `language` and the kinds of distance. Each further line is a language.
    """
    rows = [(number, line.split("\t")) for number, line in text_lines(Path(path)) if line.strip()]
    if not rows or len(rows[0][1]) < 2:
        raise DataError(
            f"{path} must begin with a tab-separated header: language, then kinds of distance"
        )
    header = rows[0][1]
    found = {}
    for number, row in rows[1:]:
        if len(row) != len(header):
            columns = counted(len(row), "column")
            raise DataError(f"{path}:{number} has {columns}, but the first line has {len(header)}")
        values = [number_in(value, f"{path}:{number}") for value in row[1:]]
        found[row[0]] = dict(zip(header[1:], values, strict=True))
    return found


def _installed() -> Path:
    """Return lang2vec's data folder without importing lang2vec."""
    try:
        return Path(str(distribution("lang2vec").locate_file("lang2vec/data")))
    except PackageNotFoundError as error:
        raise DataError(f"Language distances require the package lang2vec. {FIX}") from error


def _vectors(path: Path, prefix: str, names: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Return each language's features, (features,), whose names start with `prefix`."""
    with np.load(path, allow_pickle=False) as arrays:
        place = {str(code): row for row, code in enumerate(arrays["langs"])}
        chosen = [str(feature).startswith(prefix) for feature in arrays["feats"]]
        data = arrays["data"][:, :, 0]
    return {name: data[place[code]][chosen] for name, code in names.items() if code in place}


def _cosine_distance(first: np.ndarray, second: np.ndarray) -> float:
    first, second = first.astype(np.float64), second.astype(np.float64)
    norms = float(np.linalg.norm(first) * np.linalg.norm(second))
    return 1 - float(first @ second) / norms if norms else float("nan")
