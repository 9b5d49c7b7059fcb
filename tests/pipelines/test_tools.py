import json
import math
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.corpora.readers.sts_files import ScoredPairs
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.pipelines.read import read_corpus, sample_rows
from paraphrastic_hf.pipelines.statistics.annotation import (
    fill_bins,
    read_answers,
    sampled,
    write_sample,
)
from paraphrastic_hf.pipelines.statistics.describe import Idf, describe_corpus, entropy
from paraphrastic_hf.pipelines.statistics.lexicon import (
    PairCounts,
    agreement,
    is_lexicon,
    listed_scores,
    pmi_scores,
    read_lexicon,
    write_lexicon,
)
from paraphrastic_hf.pipelines.statistics.tenths import write_tenths
from tests.corpora.made_files import put

PAIRS = [
    ("The big dog sleeps.", "The large dog is asleep."),
    ("A big cat sat here.", "A large cat sat down here."),
    ("Hong Kong is big.", "Hong Kong is large."),
    ("Dogs bark at night.", "At night dogs bark."),
]


def rows_of(path, *columns):
    return [row for rows in read_corpus(path, columns) for row in rows]


@pytest.fixture
def named(tmp_path):
    rows = "".join(f"{a}\t{number / 4}\t{b}\n" for number, (a, b) in enumerate(PAIRS))
    return put(tmp_path, {"named.tsv": "reference\tscore\ttranslation\n" + rows}) / "named.tsv"


def test_all_formats_give_the_same_rows(tmp_path, named):
    put(tmp_path, {"plain.tsv.xz": "".join(f"{a}\t{b}\n" for a, b in PAIRS)})
    made = tmp_path / "made" / "data"
    made.mkdir(parents=True)
    for number, some in enumerate((PAIRS[:3], PAIRS[3:])):
        table = {"translation": [b for _, b in some], "reference": [a for a, _ in some]}
        pq.write_table(pa.table({**table, "n": list(range(len(some)))}), made / f"{number}.parquet")
    expected = [{"reference": a, "translation": b} for a, b in PAIRS]
    for path in (tmp_path / "plain.tsv.xz", named, made.parent, made):
        assert rows_of(path) == expected
    assert [row["n"] for row in rows_of(made.parent, "n")] == [0, 1, 2, 0]
    assert [row["score"] for row in rows_of(named, "score")] == ["0.0", "0.25", "0.5", "0.75"]


def test_missing_columns_are_refused_and_short_rows_skipped(tmp_path, named, caplog):
    put(tmp_path, {"plain.tsv": "a\tb\n", "empty.tsv": "", "x.parquet": b"PAR1 nothing"})
    for name, *columns in (("named.tsv", "n"), ("plain.tsv", "score"), ("empty.tsv",)):
        with pytest.raises(DataError):
            rows_of(tmp_path / name, *columns)
    with pytest.raises(DataError):
        rows_of(tmp_path / "x.parquet")
    with named.open("a", encoding="utf-8") as file:
        file.write("only\ttwo\n")
    assert len(rows_of(named)) == len(PAIRS)
    assert "(named.tsv:6)" in caplog.text


def test_a_sample_is_random_in_order_and_repeatable(tmp_path):
    rows = {"many.tsv": "".join(f"{n}\t{n}\n" for n in range(1000))}
    path = put(tmp_path, rows) / "many.tsv"
    sample, again, other = (sample_rows(path, 100, seed=seed) for seed in (1, 1, 2))
    numbers = [int(row["reference"]) for row in sample]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 100
    assert 350 < np.mean(numbers) < 650
    assert sample == again != other
    assert len(sample_rows(path, None)) == 1000


def test_statistics_equal_a_computation_by_hand():
    rows = [
        {"reference": "a b", "translation": "c", "parse": "(ROOT (S (NP (DT a)) (VP (V b))))"},
        {"reference": "a a a c.", "translation": "c", "parse": "(S (NP (PRP a)))"},
    ]
    found = describe_corpus(rows, scores=[0.5, None], parses="parse")
    assert (found.length.mean, found.length.deviation) == (3, 1)
    assert found.idf.mean == pytest.approx((math.log(2) / 2 + math.log(2) / 4) / 2)
    assert found.paraphrase_score.mean == 0.5
    assert found.vocabulary_entropy == pytest.approx(entropy([4, 1, 1]))
    assert found.parse_entropy == pytest.approx(math.log(2))
    without = describe_corpus(rows, side="translation")
    assert (without.paraphrase_score, without.parse_entropy) == (None, None)
    assert without.vocabulary_entropy == 0


def test_idf_of_counts_is_the_surprisal(tmp_path):
    path = tmp_path / "counts.txt"
    path.write_text("the 90\ncat 10\n", encoding="utf-8")
    idf = Idf.of_counts(path)
    assert idf.of("the cat") == pytest.approx((math.log(100 / 90) + math.log(10)) / 2)
    assert idf.of("unknown") == pytest.approx(math.log(10))
    assert idf.of("...") is None
    path.write_text("the ninety\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"counts\.txt:1 "):
        Idf.of_counts(path)


def test_stats_prints_a_table_with_the_thesis(named, capsys):
    assert main(["corpus", "stats", str(named), "--score", "score", "--side", "translation"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| named | 4 | 4.8 ± 0.8 | ")
    assert "| 0.38 ± 0.28 |" in lines[2]
    assert lines[2].endswith("| no parses |")
    assert lines[4].startswith("| CzEng 1.6 (thesis) |")
    assert main(["corpus", "stats", str(named), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)[str(named)]
    assert found["rows"] == 4
    assert 0.7 < found["paraphrase_score"]["mean"] < 1


def pmi_by_hand(pairs, u, v):
    sides = [[set(re.findall(r"\w+", pair[k].lower())) for pair in pairs] for k in (0, 1)]
    number = len(pairs)
    across = sum((u in a and v in b) + (v in a and u in b) for a, b in zip(*sides, strict=True))
    alone = [[sum(w in text for text in side) for side in sides] for w in (u, v)]
    cross = math.log(across * 2 * number / (sum(alone[0]) * sum(alone[1])))
    within = 0.0
    for k, side in enumerate(sides):
        both = sum(u in text and v in text for text in side)
        within += math.log(both * number / (alone[0][k] * alone[1][k])) / 2 if both else 0.0
    return cross, cross - within


@pytest.mark.parametrize(("u", "v"), [("big", "large"), ("hong", "kong"), ("dog", "the")])
def test_pmi_equals_its_formula(u, v):
    cross, adjusted, _ = PairCounts(PAIRS).scores([u, v], [v, u])
    expected = pmi_by_hand(PAIRS, u, v)
    assert cross == pytest.approx([expected[0]] * 2)
    assert adjusted == pytest.approx([expected[1]] * 2)


def test_adjusted_pmi_discounts_collocations():
    scores = pmi_scores(PairCounts(PAIRS))(["big", "hong"], ["large", "kong"])
    plain = pmi_scores(PairCounts(PAIRS), adjusted=False)(["big", "hong"], ["large", "kong"])
    assert plain[1] > plain[0]
    assert scores[0] > scores[1]
    assert pmi_scores(PairCounts(PAIRS))(["big", "absent"], ["bark", "absent"]).tolist() == [0, 0]


def test_lexicon_entries_have_min_count_and_equal_scores():
    counts = PairCounts(PAIRS)
    entries = list(counts.entries(min_count=2))
    assert all(each.count >= 2 and each.word != each.paraphrase for each in entries)
    assert [each.word for each in entries] == sorted(each.word for each in entries)
    first, second = [e.word for e in entries], [e.paraphrase for e in entries]
    cross, adjusted, seen = counts.scores(first, second)
    np.testing.assert_allclose([e.cross_pmi for e in entries], cross)
    np.testing.assert_allclose([e.adjusted_pmi for e in entries], adjusted)
    np.testing.assert_array_equal([e.count for e in entries], seen)
    every = sorted(counts.numbers)
    grid = counts.scores([u for u in every for _ in every], every * len(every))[2]
    assert len(entries) == (grid >= 2).sum() - sum(
        count >= 2 for count in counts.scores(every, every)[2]
    )
    big = [each.paraphrase for each in counts.entries(2, ["big"])]
    assert "large" in big


def test_long_sentences_are_skipped():
    assert PairCounts([*PAIRS, ("w " * 31, "w")]).pairs == len(PAIRS)
    assert PairCounts([*PAIRS, ("w " * 31, "w")], max_words=None).pairs == len(PAIRS) + 1
    with pytest.raises(DataError):
        PairCounts([("w " * 31, "w")])


@pytest.mark.parametrize("name", ["lexicon.tsv", "lexicon.tsv.xz", "lexicon.parquet"])
def test_lexicons_round_trip_and_load_with_datasets(name, tmp_path):
    from datasets import load_dataset

    entries = list(PairCounts(PAIRS).entries(1))
    path = tmp_path / name
    assert write_lexicon(iter(entries), path) == len(entries)
    found = list(read_lexicon(path))
    for one, other in zip(found, entries, strict=True):
        assert (one.word, one.paraphrase, one.count) == (other.word, other.paraphrase, other.count)
        assert one.adjusted_pmi == pytest.approx(other.adjusted_pmi, abs=1e-4)
    kind, more = ("parquet", {}) if name.endswith("parquet") else ("csv", {"delimiter": "\t"})
    assert is_lexicon(path)
    options = {"data_files": str(path), "cache_dir": str(tmp_path / "cache"), "split": "train"}
    assert load_dataset(kind, **options, **more)["paraphrase"] == [e.paraphrase for e in entries]
    (score,) = (e.adjusted_pmi for e in entries if (e.word, e.paraphrase) == ("big", "large"))
    assert listed_scores(path)(["big"], ["large"]) == pytest.approx([score], abs=1e-4)
    path.write_bytes(b"PAR1")
    assert not is_lexicon(path)


def test_agreement_averages_both_orders(tmp_path):
    put(tmp_path, {"list.tsv": "big\tlarge\t4\nlarge\tbig\t2\nDog\tcat\t1\n"})
    sides = ["big", "cat", "sun", "tea"], ["large", "Dog", "cup", "ant"]
    pairs = ScoredPairs("words", "words", *sides, [9, 5, 1, 2])
    scores = listed_scores(tmp_path / "list.tsv")
    assert ((scores(["big"], ["large"]) + scores(["large"], ["big"])) / 2).tolist() == [3]
    rho, share = agreement(scores, pairs)
    assert rho == pytest.approx(100 * 0.9486832980505138)  # ranks 4, 3, 1.5, 1.5 of 4, 3, 1, 2
    assert share == 0.5


def test_the_lexicon_command_writes_and_looks_up(tmp_path, named, capsys, refused):
    output = str(tmp_path / "lexicon.tsv")
    lexicon = ["corpus", "lexicon"]
    assert main([*lexicon, str(named), "--min-count", "2", "--output", output]) == 0
    assert main([*lexicon, output, "--word", "BIG", "--word", "zebra", "--count", "1"]) == 0
    captured = capsys.readouterr()
    (line,) = captured.out.splitlines()
    assert line.startswith("big\tlarge\t")
    assert "zebra" in captured.err
    kept = ["--score", "score", "--word", "zebra", "--min-count", "1", "--min-score", "0.5"]
    assert main([*lexicon, str(named), *kept]) == 0
    said = capsys.readouterr().err
    assert all(part in said for part in ("2 pairs", "zebra", "--min-count"))
    assert "--output" in refused(*lexicon, str(named))


def scores_of(rows):
    return [row["score"] for row in rows]


def test_bins_include_their_upper_edge():
    scores = [-0.5, -0.1, 0.2, 0.21, 0.4, 1.0, 1.1, None]
    rows = [{"reference": "a b c", "translation": "a b c", "score": score} for score in scores]
    bins, outside = fill_bins([rows[:3], rows[3:]], scores_of, of_a_bin=1)
    assert [each.count for each in bins] == [1, 2, 0, 0, 1]
    assert outside == 4
    assert [len(each.sample) for each in bins] == [1, 1, 0, 0, 1]
    assert bins[0].overlap == (1.0, 0.0)
    means = sampled(bins, lambda some: [7.0 for _ in some])
    assert means[:2] == [7, 7]
    assert math.isnan(means[2])
    with pytest.raises(DataError):
        fill_bins([], lambda some: [], edges=[0.5, 0.2])


def test_answers_are_collected_by_bin(tmp_path):
    rows = [
        {"reference": f"<b>COUNT {n}", "translation": "ROWS {n} & TRANSLATION", "score": n / 10}
        for n in range(1, 11)
    ]
    bins, _ = fill_bins([rows], scores_of)
    folder = tmp_path / "judged"
    assert write_sample(bins, folder) == 10
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert page.count("<article") == 10
    assert page.count('type="radio"') == 60
    assert "&lt;b&gt;COUNT 3" in page
    assert "ROWS {n} &amp; TRANSLATION" in page
    assert "of 10 answered" in page
    key = [line.split("\t") for line in (folder / "key.tsv").read_text().splitlines()[1:]]
    score = {row[0]: float(row[3]) for row in key}
    assert [score[str(n)] for n in range(1, 11)] != sorted(score.values())
    table = [line.split("\t") for line in (folder / "rows.tsv").read_text().splitlines()[1:]]
    assert all(float(row[1].split()[-1]) / 10 == score[row[0]] for row in table)
    head = "row\tparaphrase\tfluency\n"
    lines = [
        f"{row}\t{3 if value > 0.5 else 1}\t{'' if row == '1' else 2}\n"
        for row, value in score.items()
    ]
    files = {"ann.tsv": head + "".join(lines), "ben.tsv": "row\tfluency\tparaphrase\n2\t2\t2\n"}
    answers = [put(tmp_path, files) / name for name in files]
    found, agreement_of_two = read_answers(folder, answers)
    assert list(map(str, found)) == list(map(str, bins))
    total = np.sum([each.ratings["paraphrase"] for each in found], axis=0)
    assert total.tolist() == [5, 1, 5]
    assert np.sum([each.ratings["fluency"] for each in found], axis=0).tolist() == [0, 10, 0]
    assert found[-1].ratings["paraphrase"][0] == 0
    assert agreement_of_two == 0.5
    with pytest.raises(DataError):
        write_sample(bins, folder)
    for row, value in (("99\t1\t1", "'99'"), ("1\t4\t1", "4")):
        put(tmp_path, {"ben.tsv": f"{head}{row}\n"})
        with pytest.raises(DataError, match=value):
            read_answers(folder, answers[1:])


def test_the_sample_command_prints_bins(named, tmp_path, capsys, refused):
    folder = str(tmp_path / "judged")
    command = ["corpus", "sample", str(named), "--score", "score", "--output", folder]
    assert main([*command, "--independent", "english"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0].endswith("| trigram overlap | similarity by english |")
    assert "| (-0.1, 0.2] | 1 | " in captured.out
    assert "4 rows to judge" in captured.err
    absent = str(tmp_path / "absent.tsv")
    assert "judged" in refused(
        "corpus", "sample", absent, "--output", folder
    )  # checked before reading
    (tmp_path / "a.tsv").write_text("row\tparaphrase\tfluency\n1\t3\t3\n", encoding="utf-8")
    assert main(["corpus", "sample", "--answers", str(tmp_path / "a.tsv"), "--output", folder]) == 0
    assert "paraphrase 3" in capsys.readouterr().out


def test_tenths_have_equal_size_and_ascending_scores(tmp_path):
    choice = np.random.default_rng(1)
    rows = [
        {"reference": f"r{n}", "translation": f"t\t{n}", "score": score}
        for n, score in enumerate([*choice.random(103).tolist(), None])
    ]
    batches = [rows[:50], rows[50:]]
    parts = write_tenths(lambda: batches, scores_of, tmp_path / "cut")
    assert [part.rows for part in parts] == [11, 11, 11, *[10] * 7]
    assert parts[0].path.name == "part-01.tsv"
    expected = sorted(rows[:103], key=lambda row: row["score"])
    found = []
    for part in parts:
        lines = part.path.read_text(encoding="utf-8").splitlines()
        assert len(lines) == part.written == part.rows
        found.append({line.split("\t")[0] for line in lines})
        assert lines[0].split("\t")[1].startswith("t ")
    assert found[0] == {row["reference"] for row in expected[:11]}
    assert found[-1] == {row["reference"] for row in expected[-10:]}
    assert len(set().union(*found)) == 103


def test_parts_may_be_sampled(named, tmp_path, capsys, refused):
    cut = ["corpus", "tenths", str(named), "--output", str(tmp_path / "cut")]
    assert main([*cut, "--score", "score", "--parts", "2", "--most", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("\t0.5000 to 0.7500\t1 row")
    assert " 4" in refused(*cut, "--step", "overlap")
    assert "'overlap'" in refused(*cut, "--step", "overlop")


def test_commands_do_not_overwrite_their_input(tmp_path, refused):
    (shard := tmp_path / "train-00001.parquet").write_bytes(b"rows")
    assert "train-00001.parquet" in refused(
        "corpus", "lexicon", str(tmp_path), "--output", str(shard)
    )
    cut = ["corpus", "tenths", str(tmp_path), "--step", "overlap", "--output", f"{tmp_path}/"]
    assert str(tmp_path) in refused(*cut)
    assert shard.read_bytes() == b"rows"
