"""Records of the similarity sets: sentences, phrases and words with human scores."""

from __future__ import annotations

from paraphrastic_hf.corpora.source import Source, github
from paraphrastic_hf.io.download import Remote

STS_ADDRESS = "https://ixa2.si.ehu.eus/stswiki/images"
STS_TERMS = (
    "scores CC BY-SA 4.0; texts have their owners' terms (Microsoft Research, CC BY-SA 3.0, ...)"
)
STS_FILES = (
    Remote("STS2012-en-test.zip", f"{STS_ADDRESS}/4/40/STS2012-en-test.zip"),
    Remote("STS2013-en-test.zip", f"{STS_ADDRESS}/2/2f/STS2013-en-test.zip"),
    Remote("STS2014-en-test.zip", f"{STS_ADDRESS}/8/8c/STS2014-en-test.zip"),
    Remote("STS2015-en-test.zip", f"{STS_ADDRESS}/d/da/STS2015-en-test.zip"),
    Remote("STS2016-en-test.zip", f"{STS_ADDRESS}/9/98/STS2016-en-test.zip"),
    Remote("STS2012-en-train.zip", f"{STS_ADDRESS}/e/e4/STS2012-en-train.zip"),
)
STS_ROWS = {"sts12": 3108, "sts13": 2250, "sts14": 3750, "sts15": 3000, "sts16": 1186}
WORD_SETS = {
    "simlex": ("EN-SIMLEX-999.txt", 999),
    "ws353": ("EN-WS-353-ALL.txt", 353),
    "ws353-sim": ("EN-WS-353-SIM.txt", 203),
    "ws353-rel": ("EN-WS-353-REL.txt", 252),
    "rw": ("EN-RW-STANFORD.txt", 2034),
    "men": ("EN-MEN-TR-3k.txt", 3000),
    "simverb": ("EN-SimVerb-3500.txt", 3500),
    "mturk287": ("EN-MTurk-287.txt", 287),
    "mturk771": ("EN-MTurk-771.txt", 771),
    "rg65": ("EN-RG-65.txt", 65),
    "mc30": ("EN-MC-30.txt", 30),
    "yp130": ("EN-YP-130.txt", 130),
    "verb143": ("EN-VERB-143.txt", 144),
}
TABLE_49 = {
    "all": 13_023,
    "negation": 705,
    "bottom20_swer_0_2": 404,
    "bottom10_swer_0_1": 72,
    "top20_swer_3_5": 937,
    "top10_swer_4_5": 159,
    "easy_top20_0_2": 1_380,
    "easy_bottom20_3_5": 2_079,
}
_PHRASES = ("wangshaonan/Phrase-representation", "e806cee519d878b06096ebb66820f49606221315")
_SICK = ("brmson/dataset-sts", "e1d3375f5b3bc24f21aa4e46f96eb379e9fc1081")
_WORDS = ("mfaruqui/eval-word-vectors", "94b3dd9fdbac7ed08dbee7179cd5ee464acf0594")
_STS_EVAL = ("eduardofv/sts_eval", "b4cd273eb2c6cc0de34ebeffebd12ebf155ecff6")
_SICK_FILES = tuple(
    Remote(name, github(*_SICK, f"data/sts/sick2014/{name}"))
    for name in ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt")
)
_STSB_FILES = (
    Remote("Stsbenchmark.tar.gz", github(*_STS_EVAL, "data/sources/Stsbenchmark.tar.gz")),
)
_ANNOTATED_FILES = tuple(
    Remote(name, github(*_PHRASES, f"code/data/english/{name}"))
    for name in ("ppdb_dev.txt", "ppdb_test.txt")
)
_SICK_CITATION = (
    "Marelli et al. 2014. A SICK Cure for the Evaluation of Compositional Distributional Semantic "
    "Models. LREC."
)
_STS_CITATION = (
    "Agirre et al. 2012, 2013, 2014, 2015, 2016. Semantic Textual Similarity shared tasks of "
    "*SEM and SemEval."
)

SIMILARITY = (
    Source(
        name="sts",
        summary="STS 2012-2016: English sentence pairs scored 0 to 5, the 25 datasets by year.",
        configs={
            "sts12": {"test": STS_ROWS["sts12"], "train": 2234},
            **{year: {"test": rows} for year, rows in STS_ROWS.items() if year != "sts12"},
            "all": {"test": sum(STS_ROWS.values())},
            "supervised": {"train": 4841, "validation": 1207, "test": 6060},
        },
        row_type="scored pair",
        homepage="https://ixa2.si.ehu.eus/stswiki",
        licence=STS_TERMS,
        citation=_STS_CITATION,
        section="thesis 2.1.1.1",
        builder="similarity:Sts",
        folders=tuple(STS_ROWS),
        files=STS_FILES,
        only={
            "sts12": (0, 5),
            "sts13": (1,),
            "sts14": (2,),
            "sts15": (3,),
            "sts16": (4,),
            "all": (0, 1, 2, 3, 4),
            "supervised": (0, 1, 2, 3),
        },
        by_hand="ask the task's organisers; STS13 SMT is LDC text and is never in the download.",
        notes="`supervised` is 40 %, 10 % and 50 % of each dataset of 2012-2015 (Wieting and "
        "Gimpel, 2017, 4.3), by a shuffle of our own: the paper does not say which rows. A model "
        "trained on it has seen text that the other configurations test on.",
    ),
    Source(
        name="hard_sts",
        summary="Hard STS and the splits of Table 49: STS pairs whose word order and choice "
        "mislead, by symmetric word error rate.",
        configs={
            "hard": {"hard_plus": 374, "hard_minus": 205},
            "hard_plus": {"test": 374},
            "hard_minus": {"test": 205},
            **{name: {"test": rows} for name, rows in TABLE_49.items()},
        },
        row_type="scored pair",
        homepage="https://github.com/jwieting/bilingual-generative-transformer",
        licence=STS_TERMS,
        citation="Wieting, Neubig and Berg-Kirkpatrick. 2020. A Bilingual Generative Transformer "
        "for Semantic Sentence Embedding. EMNLP.",
        section="thesis 5.6.3, Tables 47 to 49",
        builder="hard_sts:HardSts",
        folders=tuple(STS_ROWS),
        files=STS_FILES[:5],
        by_hand="as for `sts`, from whose files it is made.",
        notes="Both released lists agree pair for pair, with their error rates and percentiles. "
        "Of the two easy rows Table 49 says WER and its caption SWER; no rate that was tried gives "
        "both published counts, so SWER is used.",
    ),
    Source(
        name="stsb",
        summary="The STS Benchmark: a selection of STS 2012-2017 in three splits.",
        configs={"default": {"train": 5749, "validation": 1500, "test": 1379}},
        row_type="scored pair",
        homepage="https://ixa2.si.ehu.eus/stswiki/index.php/STSbenchmark",
        licence=STS_TERMS,
        citation="Cer et al. 2017. SemEval-2017 Task 1: Semantic Textual Similarity. SemEval.",
        section="thesis 4.5.6",
        builder="similarity:StsBenchmark",
        folders=("stsbenchmark", "stsb"),
        files=_STSB_FILES,
    ),
    Source(
        name="sts17",
        summary="STS 2017, tracks 1 to 6: Arabic, English, Spanish and Turkish, within and across.",
        configs={
            track: {"test": 250}
            for track in ("en-en", "ar-ar", "ar-en", "es-es", "es-en", "es-en-wmt", "tr-en")
        },
        row_type="scored pair",
        homepage="https://alt.qcri.org/semeval2017/task1/",
        licence="CC BY-SA 4.0",
        citation="Cer et al. 2017. SemEval-2017 Task 1: Semantic Textual Similarity. SemEval.",
        section="thesis 2.1.1.2, 5.2.3",
        builder="similarity:Sts17",
        folders=("sts17",),
        files=(
            Remote(
                "Sts2017.eval.v1.1.zip", github(*_STS_EVAL, "data/sources/Sts2017.eval.v1.1.zip")
            ),
            Remote("Sts2017.gs.zip", github(*_STS_EVAL, "data/sources/Sts2017.gs.zip")),
        ),
    ),
    Source(
        name="sick",
        summary="SICK (SemEval-2014 Task 1): relatedness 1 to 5 and entailment of sentence pairs.",
        configs={"default": {"train": 4500, "validation": 500, "test": 4927}},
        row_type="scored pair",
        homepage="https://zenodo.org/record/2787612",
        licence="CC BY-NC-SA 3.0",
        citation=_SICK_CITATION,
        section="thesis 2.1.2, 3.2.4.1",
        builder="similarity:Sick",
        folders=("sick2014", "sick"),
        files=_SICK_FILES,
    ),
    Source(
        name="sick_e",
        summary="SICK-E: the entailment labels of SICK as a classification task.",
        configs={"default": {"train": 4500, "validation": 500, "test": 4927}},
        row_type="labelled",
        homepage="https://zenodo.org/record/2787612",
        licence="CC BY-NC-SA 3.0",
        citation=_SICK_CITATION,
        section="thesis 2.1.2",
        builder="similarity:SickEntailment",
        folders=("sick2014", "sick"),
        files=_SICK_FILES,
    ),
    Source(
        name="twitter",
        summary="PIT-2015 (SemEval-2015 Task 1): pairs of tweets on one topic, scored 0 to 5.",
        configs={"default": {"train": 13_063, "validation": 4_727, "test": 972}},
        row_type="scored pair",
        homepage="https://github.com/cocoxu/SemEval-PIT2015",
        licence="research; the texts are Twitter's",
        citation="Xu, Callison-Burch and Dolan. 2015. SemEval-2015 Task 1: Paraphrase and "
        "Semantic Similarity in Twitter (PIT). SemEval.",
        section="thesis 3.2.1",
        builder="similarity:Twitter",
        folders=("twitter", "pit2015", "SemEval-PIT2015"),
        by_hand="ask its authors as the homepage says; it needs train.data, dev.data, test.data "
        "and test.label.",
    ),
    Source(
        name="annotated_ppdb",
        summary="Annotated-PPDB: phrase pairs of PPDB rated 1 to 5 by five workers.",
        configs={"default": {"validation": 260, "test": 1000}},
        row_type="scored pair",
        homepage="https://www.cs.cmu.edu/~jwieting/",
        licence="none stated",
        citation="Wieting et al. 2015. From Paraphrase Database to Compositional Paraphrase Model "
        "and Back. TACL.",
        section="thesis 3.2.1, Table 13",
        builder="phrases:AnnotatedPpdb",
        folders=("ppdb_annotated", "annotated_ppdb"),
        files=_ANNOTATED_FILES,
    ),
    Source(
        name="clean_development",
        summary="Pairs to select models by that no reported test set holds: of STS-B dev, SICK "
        "trial and Annotated-PPDB dev.",
        configs={
            "stsb": {"validation": 100},
            "sick": {"validation": 482},
            "annotated_ppdb": {"validation": 258},
        },
        row_type="scored pair",
        homepage="https://ixa2.si.ehu.eus/stswiki/index.php/STSbenchmark",
        licence="that of `stsb`, `sick` and `annotated_ppdb`",
        citation="Cer et al. 2017. SemEval-2017 Task 1. Marelli et al. 2014. A SICK Cure. Wieting "
        "et al. 2015. From Paraphrase Database to Compositional Paraphrase Model and Back.",
        section="thesis 3.2.2 (Annotated-PPDB); here, every choice",
        builder="clean_development:CleanDevelopment",
        folders=("stsbenchmark", "stsb", "sick2014", "sick", "ppdb_annotated", "annotated_ppdb"),
        files=(*_STSB_FILES, _SICK_FILES[1], _ANNOTATED_FILES[0]),
        only={"stsb": (0,), "sick": (1,), "annotated_ppdb": (2,)},
        notes="Left out of 1,500, 500 and 260 pairs: those that an evaluation suite tests on, "
        "those that the training sets of STS-B, SICK or MRPC hold, and repeated ones. Pairs are "
        "compared lower-cased, without punctuation and spaces, in either order. STS 2017 en-en is "
        "reported itself, so nothing of it is left. Of STS-B dev 1,131 pairs are in STS 2012-2016 "
        "and 125 in STS 2017 en-en; 129 more, all other pairs of MSRpar, are in the test set of "
        "MRPC; what is left describes videos.",
    ),
    Source(
        name="pavlick_ppdb",
        summary="Pavlick's sample of PPDB: phrase pairs rated 1 to 5, with syntactic labels.",
        configs={"default": {"test": 26_456}},
        row_type="scored pair",
        homepage="http://www.seas.upenn.edu/~epavlick/data.html",
        licence="none stated",
        citation="Pavlick et al. 2015. PPDB 2.0: Better Paraphrase Ranking, Fine-Grained "
        "Entailment Relations, Word Embeddings, and Style Classification. ACL.",
        section="thesis 3.2.1",
        builder="phrases:PavlickPpdb",
        folders=("ppdb_pavlick26k", "pavlick_ppdb"),
        files=(
            Remote(
                "ppdb-sample.tsv",
                github(
                    "paynesa/FinalCompositionality",
                    "aaedc3313a96e9effa973f54dfe52948eff5af45",
                    "ppdb-sample.tsv",
                ),
            ),
        ),
    ),
    Source(
        name="bigrams",
        summary="Mitchell and Lapata's bigram pairs: adjective-noun (jn), noun-noun (nn) and "
        "verb-noun (vn), mean of the raters' scores 1 to 7.",
        configs={kind: {"validation": 108, "test": 108} for kind in ("jn", "nn", "vn")},
        row_type="scored pair",
        homepage="https://homepages.inf.ed.ac.uk/s0453356/share",
        licence="none stated",
        citation="Mitchell and Lapata. 2010. Composition in Distributional Models of Semantics. "
        "Cognitive Science 34.",
        section="thesis 3.5.6, Table 12",
        builder="phrases:Bigrams",
        notes="Both splits have the same pairs: 5 raters' scores in validation, 13 in test.",
        folders=("ppdb_annotated", "bigrams"),
        files=tuple(
            Remote(
                f"{name}.{{config}}.txt",
                github(*_PHRASES, f"code/data/english/{name}.{{config}}.txt"),
            )
            for name in ("bigram_dev", "bigram_test")
        ),
    ),
    Source(
        name="wordsim",
        summary="Word similarity: SimLex-999, WordSim-353 and its parts, RW, MEN and smaller sets.",
        configs={name: {"test": rows} for name, (_, rows) in WORD_SETS.items()},
        row_type="scored pair",
        homepage="https://github.com/mfaruqui/eval-word-vectors",
        licence="MIT (collection); each set has its authors' terms",
        citation="Hill et al. 2015. SimLex-999. Finkelstein et al. 2001. WordSim-353. Agirre "
        "et al. 2009. Luong et al. 2013. RW. Bruni et al. 2014. MEN.",
        section="thesis 3.5.3, 3.7.2.3",
        builder="phrases:WordSimilarity",
        folders=("wordsim", "wordsim/mfaruqui_eval-word-vectors"),
        files=tuple(
            Remote(file, github(*_WORDS, f"data/word-sim/{file}")) for file, _ in WORD_SETS.values()
        ),
        only={name: (number,) for number, name in enumerate(WORD_SETS)},
    ),
)
