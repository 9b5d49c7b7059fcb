import json

import numpy as np
import pytest

from paraphrastic_hf import GeneratedText
from paraphrastic_hf.analyses.report import write_analysis
from paraphrastic_hf.analyses.variables import read_probes, variables
from paraphrastic_hf.encoders.storage.fingerprint import identity
from paraphrastic_hf.errors import DataError

TEXTS = [f"{'long ' * (i % 4)}sentence {i}{'?' if i % 3 else '.'}" for i in range(24)]


class Generator:
    """Writes the words of the source with the last character of the style."""

    def transfer(self, sources, styles, **_):
        pairs = zip(sources, styles, strict=True)
        return [[GeneratedText(source[:-1] + style[-1], 0.0)] for source, style in pairs]

    def reconstruct(self, texts, **_):
        return [[GeneratedText(text, 0.0)] for text in texts]

    def interpolate(self, first, second, *, steps, **_):
        return [[GeneratedText(first, 0.0)]] * (steps - 1) + [[GeneratedText(second, 0.0)]]


class Judge:
    """Texts are similar if they differ only in the last character."""

    def similarity_pairwise(self, first, second):
        return np.array([float(a[:-1] == b[:-1]) for a, b in zip(first, second, strict=True)])


def analyze(**options):
    return variables(Generator(), Judge(), TEXTS, **options)


def test_outputs_are_compared_with_meaning_and_style():
    transfer = analyze().tables[0]
    meaning, style, own = (row[2:] for row in transfer.rows)
    assert meaning[:2] == pytest.approx([1.0, 1.0])
    assert meaning[2] < 1
    assert style[::2] == [0, 1]
    assert own == pytest.approx([1.0, 1.0, 1.0])


def test_samples_are_the_first_sentences():
    _, samples, lines = analyze(samples=3).tables
    assert [row[:2] for row in samples.rows] == [(TEXTS[2 * i], TEXTS[2 * i + 5]) for i in range(3)]
    assert lines.rows[4] == ["4/4", TEXTS[5]]
    assert len(lines.rows) == 15


def test_probes_are_listed_first_and_plotted(tmp_path):
    rows = [
        {"group": group, "name": name, "size": 10, "scores": {"accuracy": score}}
        for group, name, score in (
            ("semantic", "Len.", 40.0), ("en", "Len.", 60.0), ("semantic", "Depth", 30.0),
        )
    ]  # fmt: skip
    path = tmp_path / "probing.json"
    path.write_text(json.dumps({"suite": "probing", "rows": rows}))
    analysis = analyze(probes=read_probes(path))
    assert analysis.tables[0].rows == [["semantic", 40.0, 30.0], ["en", 60.0, None]]
    files = {file.name for file in write_analysis(analysis, tmp_path / "out")}
    assert {"variables.png", "variables.md", "variables-probes.tsv"} <= files
    shown = analysis.figure.axes[0]
    assert sorted(text.get_text() for text in shown.texts) == ["30.0", "40.0", "60.0"]


def test_invalid_texts_and_probes_are_refused(tmp_path):
    with pytest.raises(DataError):
        variables(Generator(), Judge(), TEXTS[:6])
    with pytest.raises(DataError):
        analyze(count=1)
    path = tmp_path / "sts.json"
    path.write_text(json.dumps({"suite": "sts", "rows": []}))
    with pytest.raises(DataError):
        read_probes(path)
    with pytest.raises(DataError):
        read_probes(tmp_path / "absent.json")
    probed, other = Judge(), Generator()
    of_one = {"suite": "probing", "model": "one", "settings": identity(probed), "rows": []}
    path.write_text(json.dumps(of_one))
    assert read_probes(path, probed) == read_probes(path) == {}
    with pytest.raises(DataError):
        read_probes(path, other)
