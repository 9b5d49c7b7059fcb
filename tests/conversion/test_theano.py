"""Converted Theano releases equal the released forward pass."""

from pathlib import Path

import numpy as np
import pytest

from paraphrastic_hf.conversion.kinds import RELEASED_PARTS
from paraphrastic_hf.errors import DataError
from tests.conversion import released
from tests.conversion.released import (
    TEXTS,
    UNKNOWN,
    WORDS,
    gran_arrays,
    gran_states,
    lstm_arrays,
    lstm_states,
    random_arrays,
    run,
    save,
    states_of_zeros,
    trigram_ids,
    word_ids,
)

ROW_OF = {word: row for row, word in enumerate(WORDS)}
TRIGRAMS = [" th", "the", "he ", "e c", " ca", "cat", UNKNOWN, " a ", "dog", "og ", "s .", " . "]
TRIGRAM_ROWS = {trigram: row for row, trigram in enumerate(TRIGRAMS)}
DIM, SIZE = 4, 3


def encode(source: Path, **choices: object) -> np.ndarray:
    """Convert a file and return the vectors of `TEXTS`."""
    return run(source, TEXTS, **{"spaced": True, **choices})[1]


def close(ours: np.ndarray, theirs: list[np.ndarray]) -> None:
    np.testing.assert_allclose(ours, np.array(theirs), atol=1e-6)  # float32 against float64


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def words(rng):
    """The table of `WORDS`, and the vectors of each text's words, (tokens, dim)."""
    (table,) = random_arrays(rng, (len(WORDS), DIM))
    return table, [table[word_ids(text, ROW_OF)] for text in TEXTS]


@pytest.mark.parametrize("protocol", [0, 1, 2, 4, 5])
def test_word_and_trigram_averaging(tmp_path, rng, protocol):
    for rows, ids_of in ((ROW_OF, word_ids), (TRIGRAM_ROWS, trigram_ids)):
        (table,) = random_arrays(rng, (len(rows), DIM))
        vectors = encode(save(tmp_path / "m.pickle", [table, rows], protocol))
        close(vectors, [table[ids_of(text, rows)].mean(0) for text in TEXTS])


@pytest.mark.parametrize("gates", [3, 4])
@pytest.mark.parametrize("peepholes", [True, False])
@pytest.mark.parametrize("kind", ["lstm", "lstm-avg", "lstm-max"])
def test_lstms(tmp_path, rng, words, kind, gates, peepholes):
    table, texts = words
    arrays = lstm_arrays(rng, DIM, SIZE, gates)[: None if peepholes else 3 * gates]
    path = save(tmp_path / "m.pickle", [table, *arrays, *states_of_zeros(SIZE), ROW_OF])
    with pytest.raises(DataError):
        encode(path)
    pool = {"lstm": lambda h, _: h[-1], "lstm-avg": np.mean, "lstm-max": np.max}
    close(encode(path, kind=kind), [pool[kind](lstm_states(x, arrays), 0) for x in texts])


@pytest.mark.parametrize("kind", ["bilstm-avg", "bilstm-max"])
@pytest.mark.parametrize("combine", ["add", "concatenate"])
def test_bilstms(tmp_path, rng, words, combine, kind):
    table, texts = words
    forward, backward = (lstm_arrays(rng, DIM, SIZE) for _ in range(2))
    zeros = states_of_zeros(SIZE)
    path = save(tmp_path / "m.pickle", [table, *forward, *zeros, *backward, *zeros, ROW_OF])
    wrong = {} if kind == "bilstm-avg" else {"combine": "add"}
    with pytest.raises(DataError):
        encode(path, kind=kind, **wrong)
    if wrong == {"combine": combine}:
        return
    expected = []
    for x in texts:
        h, b = lstm_states(x, forward), lstm_states(x[::-1], backward)[::-1]
        if combine == "add":  # -axis 1: concatenated in time, divided by one length
            expected.append(np.concatenate([h, b]).sum(0) / len(x))
        else:
            both = np.concatenate([h, b], 1)
            expected.append(both.mean(0) if kind == "bilstm-avg" else both.max(0))
    close(encode(path, kind=kind, combine=combine), expected)


@pytest.mark.parametrize("variant", [1, 2, 3, 4])
def test_grans(tmp_path, rng, words, variant):
    """The 2017 release has no vocabulary; rows are lines of the vectors file."""
    table, texts = words
    arrays = gran_arrays(rng, DIM, variant)
    path = save(tmp_path / "m.pickle", [table, *arrays, *states_of_zeros(DIM, 3)])
    lines = [f"{word} 0.5 0.5 0.5 0.5\n" for word in WORDS]
    (tmp_path / "vectors.txt").write_text("".join(lines))
    kind = "gran" if variant == 1 else f"gran-{variant}"
    if variant > 2:
        with pytest.raises(DataError):
            encode(path, kind=kind)
    vectors = encode(path, vocabulary=str(tmp_path / "vectors.txt"), kind=kind)
    states = [gran_states(x, arrays, variant) for x in texts]
    close(vectors, [h.mean(0) if variant <= 2 else h[-1] / len(h) for h in states])


def test_bigran(tmp_path, rng, words):
    table, texts = words
    forward, backward = (gran_arrays(rng, DIM, 1) for _ in range(2))
    zeros = states_of_zeros(DIM, 3)
    path = save(tmp_path / "m.pickle", [table, *forward, *zeros, *backward, *zeros, ROW_OF])
    both = [gran_states(x, forward, 1) + gran_states(x[::-1], backward, 1) for x in texts]
    close(encode(path), [states.mean(0) for states in both])


@pytest.mark.parametrize("activation", ["linear", "tanh"])
def test_projection(tmp_path, rng, words, activation):
    weight, bias = random_arrays(rng, (DIM, SIZE), (SIZE,))
    path = save(tmp_path / "m.pickle", [words[0], weight, bias, ROW_OF])
    f = np.tanh if activation == "tanh" else np.asarray
    expected = [f(x.mean(0) @ weight + bias) for x in words[1]]
    close(encode(path, activation=activation), expected)


@pytest.mark.parametrize("combine", ["add", "concatenate"])
@pytest.mark.parametrize(
    "kind", ["trigrams+words", "trigrams+lstm-avg", "words+lstm-avg", "trigrams+words+lstm-avg"]
)
def test_mixtures(tmp_path, rng, kind, combine):
    values: list = []
    averages: list[list[np.ndarray]] = []
    for part in kind.split("+"):
        names = TRIGRAM_ROWS if part == "trigrams" else ROW_OF
        (table,) = random_arrays(rng, (len(names), DIM))
        ids = [trigram_ids(t, names) if part == "trigrams" else word_ids(t, names) for t in TEXTS]
        values.append(table)
        if part == "lstm-avg":
            arrays = lstm_arrays(rng, DIM, DIM)
            values += [*arrays, *states_of_zeros(DIM)]
            averages.append([lstm_states(table[own], arrays).mean(0) for own in ids])
        else:
            averages.append([table[own].mean(0) for own in ids])
    path = save(tmp_path / "m.pickle", [*values, (TRIGRAM_ROWS, ROW_OF)])
    with pytest.raises(DataError):
        encode(path)
    of_text = zip(*averages, strict=True)
    join = np.concatenate if combine == "concatenate" else lambda parts: np.sum(parts, 0)
    close(encode(path, combine=combine), [join(parts) for parts in of_text])


FEATURES = [("ca", 9), ("the", 2), (" the c", 5), ("at", 5), ("dog", 1), ("a c", 5), ("ee", 7)]


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("activation", [None, "linear"])
def test_charagram(tmp_path, rng, activation, gpu):
    """Pickled as shared variables. The number of rows gives the cutoff of the feature file."""
    features = tmp_path / "features.txt"
    features.write_bytes(b"".join(f"{gram} \t{count}\n".encode() for gram, count in FEATURES))
    kept = [gram for gram, count in FEATURES if count >= 5]
    weight, bias = random_arrays(rng, (len(kept) + 1, DIM), (DIM,))
    with released.theano(gpu) as shared:
        path = save(tmp_path / "m.pickle", [shared(weight), shared(bias)])
    with pytest.raises(DataError):
        encode(path)
    vectors = encode(path, vocabulary=str(features), activation=activation)
    for text, ours in zip(TEXTS, vectors, strict=True):
        feature = np.zeros(len(kept) + 1)
        padded = " " + text + " "
        for n in range(2, 7):
            for gram in {padded[i : i + n] for i in range(len(padded) - n + 1)} & set(kept):
                feature[kept.index(gram)] += 1
        if not feature.any():
            assert not ours.any()
            continue
        feature[-1] = 1
        theirs = feature @ weight + bias
        close(ours, theirs if activation == "linear" else np.tanh(theirs))
    assert vectors.any()


def test_feature_files_of_other_models_are_refused(tmp_path, rng):
    features = tmp_path / "features.txt"
    features.write_text("".join(f"{gram} \t{count}\n" for gram, count in FEATURES))
    path = save(tmp_path / "m.pickle", random_arrays(rng, (4, DIM), (DIM,)))
    with pytest.raises(DataError):
        encode(path, vocabulary=str(features))  # a cutoff keeps 2 or 5
    features.write_text("ca\n")
    with pytest.raises(DataError, match=r"features\.txt:1"):
        encode(path, vocabulary=str(features))


def test_unknown_arrays_are_described(tmp_path, rng):
    path = save(tmp_path / "m.pickle", [*random_arrays(rng, (10, 4), (4, 4)), ROW_OF])
    with pytest.raises(DataError) as error:
        encode(path)
    for part in (*RELEASED_PARTS, "(10, 4)", "(4, 4)"):
        assert part in str(error.value)
    for kind in ("projection", "bert"):
        with pytest.raises(DataError):
            encode(path, kind=kind)


def test_other_arrays_are_refused(tmp_path, rng):
    gate = random_arrays(rng, (DIM, DIM), (DIM, DIM), (DIM,))
    (table,) = random_arrays(rng, (10, DIM))
    states = random_arrays(rng, (1, SIZE), (1, SIZE))
    for arrays, kind in (
        ([table, *lstm_arrays(rng, DIM, DIM, gates=3), *gate, ROW_OF], None),  # no output gate
        ([table, *gran_arrays(rng, DIM, 3)], None),  # also GRAN-5
        ([table, *lstm_arrays(rng, DIM, SIZE), *states, ROW_OF], "lstm-avg"),  # not zeros
    ):
        with pytest.raises(DataError):
            encode(save(tmp_path / "m.pickle", arrays), kind=kind)


@pytest.mark.parametrize(
    "values",
    [
        {"a": 1},
        [np.float32([[1, np.nan]]), {"a": 0}],
        [np.float64([[1, 1e300]]), {"a": 0}],
        [np.ones((2, 0), np.float32), {"a": 0}],
        *([np.float32([[1, 2]]), other] for other in ("text", {"a": 0.5}, {"a": 0, "b": 0})),
        [np.ones((2, DIM), np.float32), {"a": 0, "b": 5}],
    ],
)
def test_other_contents_are_refused(tmp_path, values):
    with pytest.raises(DataError):
        encode(save(tmp_path / "m.pickle", values))
