"""Files and tables, as the `layout` in a corpus's record describes them.

files      file names. The first that exists is read. `{config}` and `{split}` are filled in.
           Default: the official file of the configuration
splits     name of a split in `files`, if it differs, such as `{validation: dev}`
columns    index of each column in a table
separator  of columns, a tab by default. Other separators may have spaces around them
header     start of the first line of a table, if this line is no row
scores     lowest and highest valid score
labels     class of each label in a table
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from paraphrastic_hf.corpora.folder import Folder
from paraphrastic_hf.corpora.sources import Source
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.io.lines import number_in, table_rows

Row = Mapping[str, Any]


def find_file(source: Source, folder: Folder, config: str, split: str, **names: str) -> Path:
    """Find the file of a split. `names` are further fields to fill in."""
    part = source.layout.get("splits", {}).get(split, split)
    patterns = source.layout.get("files") or [remote.path for remote in source.remotes(config)]
    return folder.find(*(each.format(config=config, split=part, **names) for each in patterns))


def read_table(source: Source, folder: Folder, config: str, split: str) -> Iterator[Row]:
    """Yield the rows of the table of a split."""
    layout, path = source.layout, find_file(source, folder, config, split)
    columns, separator = layout["columns"], layout.get("separator", "\t")
    low, high = layout.get("scores", (-math.inf, math.inf))
    lines = table_rows(
        path, max(columns.values()) + 1, separator=separator, header=layout.get("header")
    )
    for number, cells in lines:
        place = f"{path}:{number}"
        if separator != "\t":
            cells = [cell.strip() for cell in cells]
        row: dict[str, Any] = {name: cells[at] for name, at in columns.items()}
        if "score" in row:
            row["score"] = number_in(row["score"], place, low=low, high=high)
        if "ratings" in row:
            ratings = row["ratings"].split(",")
            row["ratings"] = [number_in(rating, place, low=low, high=high) for rating in ratings]
        if "pair_id" in row:
            row["pair_id"] = int(number_in(row["pair_id"], place, what="a pair number"))
        if "label" in row:
            row["label"] = label_of(row["label"], layout["labels"], place)
        yield row


def label_of(label: str, labels: Mapping[str, str], place: str) -> str:
    found = labels.get(label.strip().lower())
    if found is None:
        raise DataError(f"{place} has label {label[:20]!r}, not {', '.join(labels)}")
    return found
