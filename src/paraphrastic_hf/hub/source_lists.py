"""`SOURCES.tsv` in data folders: licenses of files, and whether these allow a release."""

import lzma
import re
from collections.abc import Sequence
from pathlib import Path

from paraphrastic_hf.io.files import replacing, tsv_line
from paraphrastic_hf.io.lines import table_rows

LIST = "SOURCES.tsv"
COLUMNS = ("pair", "source", "pairs", "columns", "bytes", "release", "license", "domain")
OPEN = re.compile(
    r"(cc-?by-\d.*|cc-?by|cc0.*|public-domain.*|mit|apache-2\.0|bsd.*|odc-by|pddl|isc|unlicense)"
)


def release_class(license: str) -> str:
    """Classify a license by its conditions for publishing a model trained on the text."""
    text = re.sub(r"[\s_]+", "-", license.strip().lower())
    plain = re.sub(r"-?\(.*\)$", "", text)
    if "non-commercial" in text or re.search(r"\bby-nc\b", text):
        return "non-commercial"
    if re.fullmatch(r"cc-?by-nd.*", plain):
        return "no-derivatives"
    if re.fullmatch(r"cc-?by-sa(-\d[\w.-]*)?", plain):
        return "share-alike"
    return "open" if OPEN.fullmatch(plain) and "none-stated" not in text else "unstated"


def listed_sources(data_root: str | Path | None) -> dict[str, tuple[str, str]]:
    """Read `*/SOURCES.tsv`: license and release class of each file, by path in the data folder."""
    paths = () if data_root is None else sorted(Path(data_root).glob(f"*/{LIST}"))
    return {
        f"{path.parent.name}/{row[0]}/{row[1]}.tsv.xz": (row[6], row[5])
        for path in paths
        if path.is_file() and path.read_bytes().startswith(b"pair\tsource\t")
        for _, row in table_rows(path, 7, header="pair")
    }


def write_source(
    folder: Path,
    languages: str,
    name: str,
    pairs: Sequence[tuple[str, str]],
    *,
    license: str,
    domain: str,
) -> Path:
    """Write pairs to `FOLDER/LANGUAGES/NAME.tsv.xz`, and list the file in `FOLDER/SOURCES.tsv`.

    The texts must not contain tabs or line ends.
    """
    path, listed = folder / languages / f"{name}.tsv.xz", folder / LIST
    rows = {}
    if listed.is_file():
        rows = {tuple(row[:2]): row for _, row in table_rows(listed, len(COLUMNS), header="pair")}
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial, lzma.open(partial, "wt", encoding="utf-8") as file:
        file.writelines(tsv_line(a, b) for a, b in pairs)
    numbers = (str(len(pairs)), "2", str(path.stat().st_size))
    rows[languages, name] = [languages, name, *numbers, release_class(license), license, domain]
    with replacing(listed) as partial:
        table = [COLUMNS, *(rows[key] for key in sorted(rows))]
        partial.write_text("".join("\t".join(row) + "\n" for row in table), encoding="utf-8")
    return path
