import json
import math
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paraphrastic_hf import SentenceEncoder, align
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.mining import alignment
from paraphrastic_hf.mining.alignment import Group, align_vectors

Blocks = list[np.ndarray]
GERMAN = ["Guten Morgen.", "Die Katze schläft auf dem Sofa.", "Wo ist der Bahnhof?"]
ENGLISH = ["Good morning.", "The cat is sleeping.", "It lies on the sofa.", "Where is the station?"]


def random_blocks(random: np.random.Generator, sentences: int) -> Blocks:
    sentence = random.standard_normal((sentences, 8))
    blocks = [sentence]
    for size in range(2, min(5, sentences + 1)):
        sums = [sentence[i : i + size].sum(0) for i in range(sentences - size + 1)]
        blocks.append(np.array(sums))
    return [block / np.linalg.norm(block, axis=1, keepdims=True) for block in blocks]


def cost_of(groups: list[Group], source: Blocks, target: Blocks, skip_cost: float) -> float:
    centers = [side[0].mean(0) for side in (source, target)]
    total = 0.0
    for rows, columns, _ in groups:
        a, b = len(rows), len(columns)
        if not a or not b:
            total += skip_cost * (a + b)
            continue
        x, y = source[a - 1][rows[0]], target[b - 1][columns[0]]
        total += 2 * a * b * (1 - x @ y) / max(2 - x @ centers[1] - y @ centers[0], 1e-3)
    return total


def cheapest(source: Blocks, target: Blocks, skip_cost: float) -> float:
    rows, columns = len(source[0]), len(target[0])
    sizes = [(1, 0), (0, 1), *((a, b) for a in range(1, 5) for b in range(1, 5) if a + b <= 5)]

    @cache
    def best(i: int, j: int) -> float:
        if i == rows and j == columns:
            return 0.0
        found = []
        for a, b in sizes:
            if i + a <= rows and j + b <= columns:
                group = Group(range(i, i + a), range(j, j + b), 0.0)
                own = cost_of([group], source, target, skip_cost)
                found.append(own + best(i + a, j + b))
        return min(found)

    return best(0, 0)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 7), st.integers(1, 7), st.floats(0.05, 1.5), st.integers(0, 99))
def test_the_path_is_the_cheapest(rows, columns, skip_cost, seed):
    random = np.random.default_rng(seed)
    source, target = random_blocks(random, rows), random_blocks(random, columns)
    groups = align_vectors(source, target, skip_cost=skip_cost)
    assert [i for group in groups for i in group.source] == [*range(rows)]
    assert [j for group in groups for j in group.target] == [*range(columns)]
    found = cost_of(groups, source, target, skip_cost)
    assert found == pytest.approx(cheapest(source, target, skip_cost), rel=1e-5)


def test_a_long_document_is_aligned_near_its_coarse_path(monkeypatch):
    """With 5 % of the sentences missing, the coarse search finds what the full search finds."""
    random = np.random.default_rng(1)
    sentences = random.standard_normal((700, 32))
    sides = []
    for _ in range(2):
        kept = sentences[random.random(len(sentences)) > 0.05]
        noisy = kept + 0.3 * random.standard_normal(kept.shape)
        sides.append([noisy / np.linalg.norm(noisy, axis=1, keepdims=True)])
    coarse = align_vectors(*sides)
    monkeypatch.setattr(alignment, "COARSEST", 10_000)
    assert coarse == align_vectors(*sides)
    assert sum(len(g.source) == len(g.target) == 1 for g in coarse) > 600


def test_translations_are_grouped():
    encoder = SentenceEncoder.from_pretrained("multilingual")
    groups = align(GERMAN, ENGLISH, encoder)
    assert [(list(a), list(b)) for a, b, _ in groups] == [([0], [0]), ([1], [1, 2]), ([2], [3])]
    assert align([], ["one"], encoder) == [(range(0), range(1), 0.0)]
    assert align([], [], encoder) == []


@pytest.fixture(scope="module")
def tiny():
    return SentenceEncoder.from_pretrained("tiny")


@pytest.mark.parametrize("distinct", [1, 2, 50])
def test_a_copy_is_aligned_line_by_line(distinct, tiny):
    lines = [f"This is line {number % distinct}." for number in range(400)]
    groups = align(lines, lines, tiny)
    assert [(list(a), list(b)) for a, b, _ in groups] == [([i], [i]) for i in range(400)]


def test_groups_can_be_large(tiny):
    lines = [f"Line {number}." for number in range(20)]
    (group,) = align([" ".join(lines)], lines, tiny, max_sentences=21)
    assert (len(group.source), len(group.target)) == (1, 20)


def test_other_types_and_options_are_refused(tiny):
    for side in ("a text", [None], [b"a"], None):
        with pytest.raises(TypeError):
            align(side, ["b"], tiny)
    for option in ({"max_sentences": 1}, {"skip_cost": math.nan}, {"skip_cost": math.inf}):
        with pytest.raises(DataError):
            align(["a"], ["b"], tiny, **option)


def test_the_command_writes_each_format(tmp_path, capsys):
    german, english = tmp_path / "de.txt", tmp_path / "en.txt"
    german.write_text("\n".join([GERMAN[0], "", *GERMAN[1:]]), encoding="utf-8")
    english.write_text("\n".join([*ENGLISH, "Bread & <b>\x01\uffffbutter"]), encoding="utf-8")
    command = ["align", "multilingual", str(german), str(english)]

    assert main([*command, "--format", "vecalign"]) == 0
    rows = [line.rsplit(":", 1)[0] for line in capsys.readouterr().out.splitlines()]
    assert rows == ["[0]:[0]", "[2]:[1, 2]", "[3]:[3]", "[]:[4]"]

    assert main(command) == 0
    table = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[1:] for row in table][1] == [GERMAN[1], " ".join(ENGLISH[1:3])]
    assert main([*command, "--threshold", table[0][0]]) == 0
    assert all(line.split("\t")[0] >= table[0][0] for line in capsys.readouterr().out.splitlines())

    for threshold in ("nan", "1.5", "-2"):
        assert main([*command, "--threshold", threshold]) == 2

    assert main([*command, "--json"]) == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert objects[1]["source_lines"] == [3]
    assert objects[1]["target_lines"] == [2, 3]

    output = tmp_path / "pairs.tmx"
    more = ["--format", "tmx", "--output", str(output), "--skip-cost", "9"]
    assert main([*command, *more]) == 2  # without --languages
    assert main([*command, *more, "--languages", "de", "en"]) == 0
    segments = [each.text for each in ElementTree.parse(output).iter("seg")]
    assert segments[0] == GERMAN[0]
    assert "\ufffd\ufffdbutter" in str(segments[-1])
