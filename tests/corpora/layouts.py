"""Miniature official files of the similarity sets, and the expected rows."""

from pathlib import Path
from typing import Any

from paraphrastic_hf.corpora.readers.sts_files import STS_DATASETS
from tests.corpora.made_files import put

TRAINING = ("MSRpar", "MSRvid", "SMTeuroparl")
SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
FILES = {
    "stsbenchmark/sts-train.csv": "main-news\tMSRpar\t2012train\t7\t2.500\tA cat.\tThe cat.\n",
    "stsbenchmark/sts-dev.csv": 'main\ti\t2014\t8\t5\t"a\tb"\tlicence\n\n'
    "main\ti\t2014\t9\t0\tc\td\n",
    "stsbenchmark/sts-test.csv": "main\ti\t2014\t8\t5\ta\tb\n",
    "sts17/STS2017.eval.v1.1/STS.input.track5.en-en.txt": "a cat\tone cat\na dog\tit rains\n",
    "sts17/STS2017.gs/STS.gs.track5.en-en.txt": "4.8\n0\n",
    "sts17/STS2017.eval.v1.1/STS.input.track6.tr-en.txt": "kedi\tcat\nköpek\tdog\nev\thouse\n",
    "sts17/STS2017.gs/STS.gs.track6.tr-en.txt": "5\n4\n",
    "sick2014/SICK_train.txt": SICK_HEADER + "1\ta b\tc d\t4.5\tNEUTRAL\r\n",
    "sick2014/SICK_trial.txt": SICK_HEADER + "4\te\tf\t3.6\tCONTRADICTION\n",
    "sick2014/SICK_test_annotated.txt": SICK_HEADER
    + "6\tg\th\t1\tENTAILMENT\n8\ti\tj\t5\tneutral\n",
    "twitter/train.data": "1\tTopic\tone\ttwo\t(3, 2)\ttags\ttags\n"
    "1\tTopic\tone\tthree\t(0, 5)\t\t\n",
    "twitter/dev.data": "2\tOther\tfour\tfive\t(5, 0)\ttags\ttags\n",
    "twitter/test.data": "3\tLast\tsix\tseven\t4\ttags\ttags\n3\tLast\tsix\teight\t2\ttags\ttags\n",
    "twitter/test.label": "true\t0.8000\n----\t0.4000\n",
    "ppdb_annotated/ppdb_dev.txt": "in article|||within the article|||4.2\n",
    "ppdb_annotated/ppdb_test.txt": "he 's here|||he showed up ||| 1\n",
    "ppdb_pavlick26k/ppdb-sample.tsv": "4.0\t[NP]\tthis video\tthe movie\t3.0,4.0,5.0\n",
    "ppdb_annotated/bigram_dev.jn.txt": "old man|||young man|||1\nold man|||young man|||4\n"
    "new day|||old day|||7\n",
    "ppdb_annotated/bigram_test.jn.txt": "new day|||old day|||2\n",
    "wordsim/mfaruqui_eval-word-vectors/EN-SIMLEX-999.txt": "old\tnew\t1.58\nsmart\twise\t9.2\n",
}


def scored(first: str, second: str, score: float, **extra: Any) -> dict[str, Any]:
    return {"sentence1": first, "sentence2": second, "score": score, **extra}


ROWS: dict[tuple[str, str, str], list[dict[str, Any]]] = {
    **{
        ("sts", f"sts{year[2:]}", "test"): [
            scored(f"{name} a", f"{name} b", 2.5, dataset=name, year=year)
            for name in STS_DATASETS[year]
        ]
        for year in ("2014", "2012")
    },
    ("sts", "sts12", "train"): [
        scored(f"{name} train", "b", 1.0, dataset=name, year="2012") for name in TRAINING
    ],
    ("stsb", "default", "train"): [
        scored("A cat.", "The cat.", 2.5, genre="main-news", dataset="MSRpar", year="2012train")
    ],
    ("stsb", "default", "validation"): [
        scored('"a', 'b"', 5.0, genre="main", dataset="i", year="2014"),
        scored("c", "d", 0.0, genre="main", dataset="i", year="2014"),
    ],
    ("sts17", "en-en", "test"): [scored("a cat", "one cat", 4.8), scored("a dog", "it rains", 0.0)],
    ("sts17", "tr-en", "test"): [scored("kedi", "cat", 5.0), scored("köpek", "dog", 4.0)],
    ("sick", "default", "train"): [scored("a b", "c d", 4.5, label=1, pair_id=1)],
    ("sick", "default", "validation"): [scored("e", "f", 3.6, label=2, pair_id=4)],
    ("sick", "default", "test"): [
        scored("g", "h", 1.0, label=0, pair_id=6),
        scored("i", "j", 5.0, label=1, pair_id=8),
    ],
    ("sick_e", "default", "validation"): [{"sentence1": "e", "sentence2": "f", "label": 2}],
    ("twitter", "default", "train"): [
        scored("one", "two", 3.0, topic="Topic"),
        scored("one", "three", 0.0, topic="Topic"),
    ],
    ("twitter", "default", "validation"): [scored("four", "five", 5.0, topic="Other")],
    ("twitter", "default", "test"): [
        scored("six", "seven", 4.0, topic="Last"),
        scored("six", "eight", 2.0, topic="Last"),
    ],
    ("annotated_ppdb", "default", "validation"): [scored("in article", "within the article", 4.2)],
    ("annotated_ppdb", "default", "test"): [scored("he 's here", "he showed up", 1.0)],
    ("pavlick_ppdb", "default", "test"): [
        scored("this video", "the movie", 4.0, syntax="[NP]", ratings=[3.0, 4.0, 5.0])
    ],
    ("bigrams", "jn", "validation"): [
        scored("old man", "young man", 2.5, ratings=[1.0, 4.0]),
        scored("new day", "old day", 7.0, ratings=[7.0]),
    ],
    ("wordsim", "simlex", "test"): [scored("old", "new", 1.58), scored("smart", "wise", 9.2)],
}


def write(root: Path, name: str, content: str | bytes) -> None:
    put(root, {name: content})


def write_all(root: Path) -> Path:
    put(root, FILES)
    for year, names in STS_DATASETS.items():
        prefix = "STS2016" if year == "2016" else "STS"
        for name in names:
            stem = f"sts{year[2:]}/original/{prefix}"
            sides = f"{name} a\t{name} b\n"
            put(root, {f"{stem}.input.{name}.txt": sides, f"{stem}.gs.{name}.txt": "2.5\n"})
    for name in TRAINING:
        stem = "sts12/train/STS2012-train/STS"
        put(
            root, {f"{stem}.input.{name}.txt": f"{name} train\tb\n", f"{stem}.gs.{name}.txt": "1\n"}
        )
    return root
