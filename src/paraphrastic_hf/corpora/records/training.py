"""Records of the corpora the papers train on."""

from __future__ import annotations

from paraphrastic_hf.corpora.source import Source, github
from paraphrastic_hf.io.download import Remote

PPDB_SIZES = ("s", "m", "l", "xl", "xxl", "xxxl")
PPDB_PARTS = ("lexical", "phrasal")
_OPUS = "Tiedemann. 2012. Parallel Data, Tools and Interfaces in OPUS. LREC."
_ANY_PAIR = "two language codes in OPUS's order, such as en-fr"

# XL: 548,085 lexical rows (thesis, 3.5.2); 3,033,753 unique phrase pairs (3.2.2.1).
_PPDB_ROWS = {"1.0-xl-lexical": 548_085}


def _opus(name: str, corpus: str, version: str, licence: str, section: str, cite: str) -> Source:
    return Source(
        name=name,
        summary=f"{corpus} {version} of OPUS: sentence-aligned bitext; configurations are "
        f"{_ANY_PAIR}.",
        configs={},
        row_type="bitext",
        homepage=f"https://opus.nlpl.eu/{corpus}.php",
        licence=licence,
        citation=cite,
        section=section,
        builder=f"bitext:{''.join(part.capitalize() for part in name.split('_'))}",
        folders=(name, corpus, corpus.lower()),
        files=(
            Remote(
                f"{corpus}.{{first}}-{{second}}.txt.zip",
                f"https://object.pouta.csc.fi/OPUS-{corpus}/{version}/moses/"
                "{first}-{second}.txt.zip",
            ),
        ),
    )


TRAINING = (
    Source(
        name="paranmt",
        summary="ParaNMT-50M: English references and the back-translations of their Czech side, "
        "with a paraphrase score; filters by score, trigram overlap and length.",
        configs={"50m": {"train": 51_409_585}, "5m": {"train": 5_370_126}},
        row_type="scored pair",
        homepage="https://www.cs.cmu.edu/~jwieting/",
        licence="CC BY 4.0 as its authors state; the references are CzEng's (non-commercial)",
        citation="Wieting and Gimpel. 2018. ParaNMT-50M: Pushing the Limits of Paraphrastic "
        "Sentence Embeddings with Millions of Machine Translations. ACL.",
        section="thesis 4.3, 4.5.4; 7.2.1 footnote 3",
        builder="paraphrase:ParaNmt",
        folders=("paranmt", "para-nmt-50m", "paranmt-50m"),
        files=(
            Remote("para-nmt-50m.zip", "https://www.phontron.com/data/para-nmt-50m.zip"),
            Remote(
                "para-nmt-5m-processed.zip",
                "https://www.phontron.com/data/para-nmt-5m-processed.zip",
            ),
        ),
        only={"50m": (0,), "5m": (1,)},
        by_hand="the author's page links para-nmt-50m.zip (para-nmt-50m.txt inside) on Google "
        "Drive.",
    ),
    Source(
        name="ppdb",
        summary="The Paraphrase Database, English, 1.0 and 2.0: word and phrase pairs by size.",
        configs={
            key: {"train": _PPDB_ROWS.get(key)}
            for version in ("2.0", "1.0")
            for size in PPDB_SIZES
            for part in PPDB_PARTS
            for key in [f"{version}-{size}-{part}"]
        },
        row_type="scored pair",
        homepage="http://paraphrase.org",
        licence="CC BY 3.0 US",
        citation="Ganitkevitch, Van Durme and Callison-Burch. 2013. PPDB: The Paraphrase Database. "
        "NAACL. Pavlick et al. 2015. PPDB 2.0. ACL.",
        section="thesis 2.2.1, 3.2.2.1, 3.5.2, 3.7.2.2",
        builder="paraphrase:Ppdb",
        folders=("ppdb",),
        files=(
            # The host is not known to serve https.
            Remote("ppdb-{config}.gz", "http://nlpgrid.seas.upenn.edu/PPDB/eng/ppdb-{config}.gz"),
        ),
        by_hand="paraphrase.org offers ppdb-2.0-xl-lexical.gz and the like.",
    ),
    Source(
        name="ppdb_synonyms",
        summary="Unique word pairs of PPDB 1.0 XXXL, as the monolingual word aligner packs them.",
        configs={"default": {"train": None}},
        row_type="pair",
        homepage="https://www.nltk.org/nltk_data/",
        licence="CC BY 3.0 US (PPDB)",
        citation="Sultan, Bethard, Sumner. 2014. Back to Basics for Monolingual Alignment. TACL.",
        section="thesis 3.5.2 (a larger word list of the same database)",
        notes="Its authors publish no count.",
        builder="paraphrase:PpdbSynonyms",
        folders=("mwa_ppdb", "nltk/misc"),
        files=(
            Remote(
                "mwa_ppdb.zip",
                github(
                    "nltk/nltk_data",
                    "5db857e6f7df11eabb5e5665836db9ec8df07e28",
                    "packages/misc/mwa_ppdb.zip",
                ),
            ),
        ),
    ),
    Source(
        name="simpwiki",
        summary="Simple English Wikipedia sentences aligned with English Wikipedia.",
        configs={
            "v2": {"train": 167_689},
            "v1": {"train": None, "validation": None, "test": None},
        },
        row_type="pair",
        homepage="https://cs.pomona.edu/~dkauchak/simplification/",
        licence="CC BY-SA 3.0 (Wikipedia)",
        citation="Coster and Kauchak. 2011. Simple English Wikipedia: A New Text Simplification "
        "Task. ACL.",
        section="Revisiting Recurrent Networks 2017, section 4",
        builder="paraphrase:SimpWiki",
        notes="Of v1 the authors give rounded figures: 124,000, 12,000 and 1,300.",
        folders=("simpwiki", "sentence-aligned.v2", "data.v1.split"),
        files=(
            Remote(
                "sentence-aligned.v2.tar.gz",
                "https://cs.pomona.edu/~dkauchak/simplification/data.v2/sentence-aligned.v2.tar.gz",
            ),
            Remote(
                "data.v1.split.tar.gz",
                "https://cs.pomona.edu/~dkauchak/simplification/data.v1/data.v1.split.tar.gz",
            ),
        ),
        only={"v2": (0,), "v1": (1,)},
    ),
    Source(
        name="bitext",
        summary="Your own bitext or paraphrases: TSV, two aligned text files, TMX, or an OPUS zip; "
        f"configurations are {_ANY_PAIR}.",
        configs={},
        row_type="bitext",
        homepage="",
        licence="yours",
        citation="",
        section="thesis 5.6.2 (5 to 100 tokens a side)",
        builder="bitext:Bitext",
        by_hand="it is your own text.",
    ),
    _opus(
        "opensubtitles2018",
        "OpenSubtitles",
        "v2018",
        "none stated; please link to opensubtitles.org",
        "thesis 5.6.2, 5.13.1",
        "Lison, Tiedemann and Kouylekov. 2018. OpenSubtitles2018. LREC.",
    ),
    _opus(
        "opensubtitles2016",
        "OpenSubtitles",
        "v2016",
        "none stated; please link to opensubtitles.org",
        "thesis 5.2.3",
        "Lison and Tiedemann. 2016. OpenSubtitles2016. LREC.",
    ),
    _opus("europarl", "Europarl", "v8", "none stated; no known copyright", "thesis 5.13.1", _OPUS),
    _opus("tanzil", "Tanzil", "v1", "non-commercial (Tanzil terms)", "thesis 5.13.1", _OPUS),
    _opus("multiun", "MultiUN", "v1", "none stated", "thesis 5.13.1", _OPUS),
    _opus("setimes", "SETIMES", "v2", "CC BY-SA", "thesis 7.4.1", _OPUS),
    _opus(
        "news_commentary",
        "News-Commentary",
        "v16",
        "none stated",
        "thesis 7.4.1 (v13 of WMT 2018; OPUS has later versions)",
        _OPUS,
    ),
    Source(
        name="czeng",
        summary="CzEng 1.6, the Czech-English corpus that ParaNMT back-translates.",
        configs={"cs-en": {"train": 62_489_820}},
        row_type="bitext",
        homepage="https://ufal.mff.cuni.cz/czeng",
        licence="CC BY-NC-SA 3.0, after registration",
        citation="Bojar et al. 2016. CzEng 1.6: Enlarged Czech-English Parallel Corpus with "
        "Processing Tools Dockered. TSD.",
        section="thesis 4.3",
        builder="bitext:CzEng",
        folders=("czeng", "czeng16", "data-plaintext-format"),
        by_hand="register at ufal.mff.cuni.cz/czeng and unpack data-plaintext-format.*.tar.",
    ),
    Source(
        name="gigaword",
        summary="The French-English 10^9 corpus (Gigaword) of WMT 2010.",
        configs={"en-fr": {"train": 22_520_400}},
        row_type="bitext",
        homepage="https://www.statmt.org/wmt10/translation-task.html",
        licence="none stated (WMT: research use)",
        citation="Callison-Burch et al. 2010. Findings of the 2010 Joint Workshop on SMT. WMT.",
        section="thesis 5.6.2",
        builder="bitext:Gigaword",
        folders=("gigaword", "giga-fren", "training-giga-fren"),
        files=(
            Remote("training-giga-fren.tar", "https://www.statmt.org/wmt10/training-giga-fren.tar"),
        ),
    ),
    Source(
        name="freedict",
        summary="FreeDict's dictionaries: words and short phrases with their translations, without "
        "pronunciation, grammar, notes and examples; configurations are two language codes, such "
        "as en-ar.",
        configs={},
        row_type="bitext",
        homepage="https://freedict.org",
        licence="GPL 2 or later; those that WikDict made, CC-BY-SA 3.0; each says its own",
        citation="",
        section="none: words for the packaged multilingual model",
        builder="bitext:Freedict",
        folders=("freedict", "dictd"),
        by_hand="`apt-get download dict-freedict-eng-ara dict-freedict-ara-eng` fetches the "
        "packages of Debian, and `dpkg -x FILE freedict` unpacks each; or take the dictd archives "
        "of https://freedict.org/downloads. Either direction will do.",
    ),
    Source(
        name="multi30k",
        summary="Multi30k task 1: image captions and their translations; raw text.",
        configs={
            f"en-{language}": {
                "train": 29_000,
                "validation": 1_014,
                "test_2016_flickr": 1_000,
                **(
                    {"test_2017_flickr": 1_000, "test_2017_mscoco": 461} if language != "cs" else {}
                ),
                **({"test_2018_flickr": 1_071} if language == "cs" else {}),
            }
            for language in ("de", "fr", "cs")
        },
        row_type="bitext",
        homepage="https://github.com/multi30k/dataset",
        licence="none stated; captions are Flickr30k's, for non-commercial research",
        citation="Elliott et al. 2016. Multi30K: Multilingual English-German Image Descriptions.",
        section="data of this project's English-French runs",
        builder="bitext:Multi30k",
        folders=("multi30k", "multi30k/task1/raw"),
        files=tuple(
            Remote(
                f"{stem}.{side}.gz",
                github(
                    "multi30k/dataset",
                    "a3d2e0d26b56f3846f66a952536ffed4e401d05a",
                    f"data/task1/raw/{stem}.{side}.gz",
                ),
            )
            for stem in ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
            for side in ("{first}", "{second}")
        )
        + tuple(
            Remote(
                f"test_2018_flickr.{side}.gz",
                github(
                    "multi30k/dataset",
                    "a3d2e0d26b56f3846f66a952536ffed4e401d05a",
                    f"data/task1/raw/test_2018_flickr.{side}.gz",
                ),
            )
            for side in ("{first}", "{second}")
        ),
        only={
            "en-de": tuple(range(10)),
            "en-fr": tuple(range(10)),
            "en-cs": (*range(6), 10, 11),
        },
    ),
)
