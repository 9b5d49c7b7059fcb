import shutil

import pytest

from paraphrastic_hf.corpora.readers.sts_files import (
    STS17_TRACKS,
    STS_DATASETS,
    ScoredPairs,
    read_sts,
    read_sts17,
    read_sts_train,
)
from paraphrastic_hf.errors import DataError
from tests.corpora.made_files import put

INPUTS = "a cat sleeps\tthe cat is asleep\na dog barks\tit rains\n"
GOLD = "4.6\n0\n"


def file_names(year, name):
    prefix = "STS2016" if year == "2016" else "STS"
    return f"{prefix}.input.{name}.txt", f"{prefix}.gs.{name}.txt"


@pytest.fixture
def data_dir(tmp_path):
    """All datasets of 2012-2017, two pairs each."""
    files = {}
    for year, names in STS_DATASETS.items():
        # as packed: the 2012 files have a folder beside the training data
        folder = f"sts{year[2:]}/{'test-gold/' if year == '2012' else ''}"
        for name in names:
            inputs, gold = file_names(year, name)
            files |= {folder + inputs: INPUTS, folder + gold: GOLD}
    for stem in STS17_TRACKS.values():
        files |= {f"sts17/STS.input.{stem}.txt": INPUTS, f"sts17/STS.gs.{stem}.txt": GOLD}
    return put(tmp_path, files)


def write(data_dir, inputs, gold):
    """Write the two files of STS 2015 belief."""
    files = zip(file_names("2015", "belief"), (inputs, gold), strict=True)
    put(data_dir / "sts15", dict(files))


def belief(data_dir):
    return next(pairs for pairs in read_sts(data_dir) if pairs.name == "belief")


def test_there_are_25_datasets_in_five_years(data_dir):
    found = read_sts(data_dir)
    assert [len([p for p in found if p.group == year]) for year in STS_DATASETS] == [5, 4, 6, 5, 5]
    sides = ["a cat sleeps", "a dog barks"], ["the cat is asleep", "it rains"]
    assert found[0] == ScoredPairs("MSRpar", "2012", *sides, [4.6, 0.0])


@pytest.mark.parametrize("year", STS_DATASETS)
def test_only_smt_of_2013_may_be_missing(year, data_dir):
    for name in file_names("2013", "SMT"):
        (data_dir / "sts13" / name).unlink()
    found = [pairs.name for pairs in read_sts(data_dir)]
    assert len(found) == 24
    assert "SMT" not in found
    shutil.rmtree(data_dir / f"sts{year[2:]}")
    with pytest.raises(DataError):
        read_sts(data_dir)


def test_untokenized_originals_are_preferred(data_dir):
    inputs, gold = file_names("2015", "belief")
    for name in (inputs, gold):
        (data_dir / "sts15" / name).unlink()
    for folder, first in [("original", "untokenised"), ("a-tokenised", "tokenised")]:
        put(data_dir / "sts15" / folder, {inputs: f"{first}\tb\n", gold: "1\n"})
    assert belief(data_dir).first == ["untokenised"]


def test_unscored_pairs_are_skipped_and_further_columns_ignored(data_dir):
    write(data_dir, "a\tb\nc\td\ne\tf\ng\th\tsource\tx\ni\tj\n", "\n3\n \n1\n\n")
    pairs = belief(data_dir)
    assert (pairs.first, pairs.second, pairs.scores) == (["c", "g"], ["d", "h"], [3.0, 1.0])


@pytest.mark.parametrize(
    "gold", ["1\n", "1\n2\n3\n", "1\n2\n\n"], ids=["fewer", "more", "one empty line more"]
)
def test_files_of_different_length_are_refused(gold, data_dir):
    write(data_dir, "a\tb\nc\td\n", gold)
    with pytest.raises(DataError, match=r"input\.belief\.txt .*gs\.belief\.txt"):
        read_sts(data_dir)
    for track in ("a\tb\n", "a\tb\nc\td\ne\tf\n"):  # two scores
        put(data_dir, {"sts17/STS.input.track5.en-en.txt": track})
        with pytest.raises(DataError):
            read_sts17(data_dir, ["en-en"])


@pytest.mark.parametrize("score", ["high", "nan", "inf", "5.1", "-0.1", "2,5"])
def test_a_score_outside_0_to_5_is_refused(score, data_dir):
    write(data_dir, "a\tb\nc\td\n", f"1\n{score}\n")
    with pytest.raises(DataError, match=rf"STS\.gs\.belief\.txt:2 .*'{score}'"):
        read_sts(data_dir)


@pytest.mark.parametrize("gold", ["1\n2\n", "\n2\n"])
def test_a_line_without_two_texts_is_refused(gold, data_dir):
    write(data_dir, "a\tb\nno tab\n", gold)
    with pytest.raises(DataError, match=r"STS\.input\.belief\.txt:2 "):
        read_sts(data_dir)


def test_track_6_has_more_inputs_than_scores(data_dir):
    put(data_dir, {"sts17/STS.input.track6.tr-en.txt": "a\tb\nc\td\ne\tf\ng\th\n"})
    pairs, english = read_sts17(data_dir, ["tr-en", "en-en"])
    assert (pairs.first, pairs.second, pairs.scores) == (["a", "c"], ["b", "d"], [4.6, 0.0])
    assert english.name == "en-en"
    assert [pairs.name for pairs in read_sts17(data_dir)] == list(STS17_TRACKS)


def test_the_training_sets_of_2012_are_read_by_name(data_dir):
    for name in ("MSRpar", "MSRvid", "SMTeuroparl"):
        files = {f"STS.input.{name}.txt": f"{name}\ttrain\n", f"STS.gs.{name}.txt": "3\n"}
        put(data_dir / "sts12" / "train", files)
    found = list(read_sts_train([data_dir / "sts12"]))
    assert [pairs.first for pairs in found] == [["MSRpar"], ["MSRvid"], ["SMTeuroparl"]]
    assert {pairs.group for pairs in found} == {"2012 train"}
    assert read_sts(data_dir)[0].first == ["a cat sleeps", "a dog barks"]
    shutil.rmtree(data_dir / "sts12" / "test-gold")
    with pytest.raises(DataError):  # training files are not test files
        read_sts(data_dir)
