import json
import re

import pytest

from paraphrastic_hf import load_dataset
from paraphrastic_hf.errors import DataError
from tests.corpora.made_files import put, rows


def named(name, config, data_dir, split):
    streamed = load_dataset(name, config, split=split, data_dir=data_dir, streaming=True)
    label = streamed.features["label"]
    return [(*list(row.values())[:-1], label.int2str(row["label"])) for row in streamed]


TWO_FILES = {
    "mr": ("rt-polarity.neg", "rt-polarity.pos", "negative", "positive"),
    "cr": ("custrev.neg", "custrev.pos", "negative", "positive"),
    "mpqa": ("mpqa.neg", "mpqa.pos", "negative", "positive"),
    "subj": ("subj.subjective", "subj.objective", "subjective", "objective"),
}


@pytest.mark.parametrize("name", TWO_FILES)
@pytest.mark.parametrize("top", ["", "senteval_transfer/{}/"], ids=["own folder", "SentEval's"])
def test_each_class_has_a_file_and_empty_lines_count(name, top, tmp_path):
    *names, low, high = TWO_FILES[name]
    first, second = (f"{top.format(name.upper())}{file}" for file in names)
    files = {first: "dull .\n\nlong \n", second: "a joy .\n"}
    expected = [("dull .", low), ("", low), ("long", low), ("a joy .", high)]
    assert named(name, None, put(tmp_path / "both", files), "train") == expected
    for only in (first, second):
        with pytest.raises(DataError):
            rows(name, None, put(tmp_path / f"only {only}", {only: files[only]}))


SST = {
    **{f"stsa.binary.{part}": f"0 dull {part} .\n1 a joy .\n" for part in ("train", "dev", "test")},
    **{f"stsa.fine.{part}": f"0 awful {part}\n4 great\n2 so so\n" for part in ("train", "dev")},
    "stsa.fine.test": "3 fine\n1 meh\n",
    **{f"sentiment-{part}": f"dull {part}\t0\njoy\t1\n" for part in ("train", "dev", "test")},
}


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_sst_has_binary_and_fine_sentences_and_phrases(split, tmp_path):
    part = "dev" if split == "validation" else split
    folder = put(tmp_path / "sst", SST)
    binary = [(f"dull {part} .", "negative"), ("a joy .", "positive")]
    assert named("sst", "binary", folder, split) == binary
    assert named("sst", "phrases", folder, split)[0] == (f"dull {part}", "negative")
    fine = [label for _, label in named("sst", "fine", folder, split)]
    expected = ["positive", "negative"] if split == "test" else None
    assert fine == (expected or ["very negative", "very positive", "neutral"])


def test_trec_is_latin_1_with_coarse_and_fine_labels(tmp_path):
    text = b"DESC:def What is a caf\xe9 ?\nHUM:ind Who ?\n"
    folder = put(tmp_path, {"train_5500.label": text, "TREC_10.label": "NUM:dist How far ?\n"})
    coarse = [("What is a café ?", "DESC"), ("Who ?", "HUM")]
    assert named("trec", "coarse", folder, "train") == coarse
    assert [row["label"] for row in rows("trec", "fine", folder)] == ["DESC:def", "HUM:ind"]
    assert named("trec", "coarse", folder, "test") == [("How far ?", "NUM")]


MRPC_HEAD = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"


def test_mrpc_has_a_header_after_its_byte_order_mark_and_literal_quotes(tmp_path):
    text = MRPC_HEAD + '1\t11\t12\t"So , he said\tHe said "\r\n0\t3\t4\ta\tb\r\n'
    folder = put(tmp_path, {"msr_paraphrase_test.txt": text})
    expected = [('"So , he said', 'He said "', "paraphrase"), ("a", "b", "different")]
    assert named("mrpc", None, folder, "test") == expected


XNLI_HEAD = (
    "language\tgold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
    "sentence2_parse\tsentence1\tsentence2\tpromptID\n"
)
XNLI_ROWS = "fr\tneutral\t\t\t\t\tune\tdeux\t1\nen\tentailment\t\t\t\t\tone\ttwo\t1\n"


def test_official_xnli_has_all_languages_in_one_file(tmp_path):
    part = {f"xnli.{part}.tsv": XNLI_HEAD + XNLI_ROWS for part in ("dev", "test")}
    folder = put(tmp_path / "XNLI-1.0", part)
    assert named("xnli", "fr", folder, "test") == [("une", "deux", "neutral")]
    assert named("xnli", "en", tmp_path, "validation") == [("one", "two", "entailment")]
    with pytest.raises(DataError):
        rows("xnli", "de", folder, "test")


def test_xnli_of_xtreme_has_one_file_per_language_and_no_test_split(tmp_path):
    folder = put(tmp_path, {"dev-fr.tsv": "une\tdeux\tcontradiction\n", "test-fr.tsv": "a\tb\n"})
    assert named("xnli", "fr", folder, "validation") == [("une", "deux", "contradiction")]
    assert list(load_dataset("xnli", "fr", data_dir=folder, streaming=True)) == ["validation"]


WRONG = {
    "mr latin-1": ("mr", None, "rt-polarity.neg", 2, b"dull\ncaf\xe9\n"),
    "sst binary": ("sst", "binary", "stsa.binary.train", 2, "0 a\n2 b\n"),
    "sst odd digit": ("sst", "binary", "stsa.binary.train", 1, "² dull\n"),
    "sst fine": ("sst", "fine", "stsa.fine.train", 2, "4 a\n5 b\n"),
    "sst phrases": ("sst", "phrases", "sentiment-train", 2, "a\t0\nb\t-1\n"),
    "sst empty": ("sst", "binary", "stsa.binary.train", 2, "0 a\n\n1 b\n"),
    "sst no text": ("sst", "binary", "stsa.binary.train", 1, "0\n"),
    "trec": ("trec", "coarse", "train_5500.label", 2, "HUM:x a\nOOPS:x b\n"),
    "trec no kind": ("trec", "fine", "train_5500.label", 1, "HUM a\n"),
    "trec no text": ("trec", "fine", "train_5500.label", 1, "HUM:ind\n"),
    "mrpc": ("mrpc", None, "msr_paraphrase_train.txt", 2, MRPC_HEAD + "2\t1\t2\ta\tb\n"),
    "mrpc no header": ("mrpc", None, "msr_paraphrase_train.txt", 1, "1\t11\t12\ta\tb\n"),
    "mrpc short": ("mrpc", None, "msr_paraphrase_train.txt", 2, MRPC_HEAD + "1\t1\t2\ta\n"),
    "xnli": ("xnli", "fr", "dev-fr.tsv", 2, "a\tb\tneutral\na\tb\t-\n"),
    "xnli official": ("xnli", "fr", "xnli.dev.tsv", 2, XNLI_HEAD + "fr\t-" + "\tx" * 7),
    **{
        f"score {score}": (
            *("wmt_da", "newstest2015.cs-en", "newstest2015.cs-en.tsv", 2),
            f"0.1\ta\tb\n{score}\tc\td\n",
        )
        for score in ("NaN", "good", "")
    },
    "probing": ("probing", "tree_depth", "tree_depth/va.txt", 1, "a b 5\n"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_labels_and_rows_are_refused_with_their_line(what, tmp_path):
    name, config, file, line, text = WRONG[what]
    split = {"xnli": "validation", "probing": "validation", "wmt_da": "test"}.get(name, "train")
    with pytest.raises(DataError, match=re.escape(f"{file}:{line} ")):
        rows(name, config, put(tmp_path / "here", {file: text, "rt-polarity.pos": "joy\n"}), split)


def test_probing_files_of_senteval_have_three_splits(tmp_path):
    text = 'tr\tNN\tthe cat\nva\tNNS\tcats\ntr\tNN\t"a dog\nte\tNNS\tdogs\n'
    folder = put(tmp_path, {"obj_number.txt": text})
    train = [{"text": "the cat", "label": "NN"}, {"text": '"a dog', "label": "NN"}]
    assert rows("probing", "obj_number", folder) == train
    for split, word in (("validation", "cats"), ("test", "dogs")):
        assert rows("probing", "obj_number", folder, split) == [{"text": word, "label": "NNS"}]


def test_x_probe_has_no_training_split(tmp_path):
    files = {f"en/tree_depth/{part}.txt": f"cats {part}\t5\n" for part in ("va", "te")}
    folder = put(tmp_path / "probing_xprobe", files)
    put(folder, {f"de/tree_depth/{part}.txt": "Katzen\t7\n" for part in ("va", "te")})
    found = load_dataset("probing", "tree_depth", data_dir=tmp_path, streaming=True)
    assert list(found) == ["validation", "test"]
    assert rows("probing", "tree_depth", folder, "test") == [{"text": "cats te", "label": "5"}]


def test_tatoeba_has_one_column_per_language(tmp_path):
    files = {"tatoeba.fra-eng.fra": "un\ndeux\n", "tatoeba.fra-eng.eng": "one\ntwo\n"}
    expected = [{"fra": "un", "eng": "one"}, {"fra": "deux", "eng": "two"}]
    assert rows("tatoeba", "fra", put(tmp_path, files), "test") == expected
    put(tmp_path, {"tatoeba.fra-eng.eng": "one\n"})
    with pytest.raises(DataError):
        rows("tatoeba", "fra", tmp_path, "test")


def bucc(tmp_path, gold="zh-2\ten-1\n", part="dev"):
    files = {"zh": "zh-1\t猫\nzh-2\t狗\n", "en": "en-1\ta dog\n", "gold": gold}
    return put(tmp_path, {f"zh-en.{part}.{end}": text for end, text in files.items()})


@pytest.mark.parametrize("part", ["dev", "training", "sample"])
def test_bucc_has_gold_pairs_and_two_sides(part, tmp_path):
    folder = bucc(tmp_path, part=part)
    found = {split: rows("bucc", "zh-en", folder, split) for split in ("gold", "source", "target")}
    assert found["gold"] == [{"zh": "狗", "en": "a dog", "id": "zh-2 en-1"}]
    assert [row["id"] for row in found["source"]] == ["zh-1", "zh-2"]
    assert found["target"] == [{"zh": None, "en": "a dog", "id": "en-1"}]


@pytest.mark.parametrize("gold", ["zh-2\ten-9\n", "zh-9\ten-1\n", "en-1\tzh-2\n"])
def test_unknown_ids_of_gold_pairs_are_refused(gold, tmp_path):
    folder = bucc(tmp_path, "zh-1\ten-1\n" + gold)
    with pytest.raises(DataError):
        rows("bucc", "zh-en", folder, "gold")


def da(tmp_path, files):
    return rows("wmt_da", "newstest2015.cs-en", put(tmp_path, files), "test")


def segments(human):
    output = {"generated_sentence": "the boat ", "scores": {"human": human}}
    return json.dumps({"7": {"references_sentences": "a boat", "system": {"wmt15": output}}})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("newstest2015.cs-en.tsv", "-0.5\ta boat\tthe boat\n"),
        ("15_cs-en_formated.json", segments(-0.5)),
        ("15_cs-en_formated.json.gz", segments("-0.5")),
    ],
)
def test_scored_translations_are_read_from_tsv_and_json(name, text, tmp_path):
    expected = [{"sentence1": "a boat", "sentence2": "the boat", "score": -0.5}]
    assert da(tmp_path, {name: text}) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[1]", '{"7": {}}', '{"7": ["a"]}'),
        *(segments("good"), segments(None), segments(float("nan"))),
    ],
)
def test_json_without_segments_is_refused(text, tmp_path):
    with pytest.raises(DataError):
        da(tmp_path, {"15_cs-en_formated.json": text})
