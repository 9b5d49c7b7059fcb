"""All blocks of the README and the guides run in order, in one folder.

Python blocks run unchanged. Shell commands run through `main`, with options that make models small.
The files that a reader is expected to have, and the folder DATA, are made here.
"""

import argparse
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.cli.main import main
from tests.conversion.released import UNKNOWN, WORDS, random_arrays, save
from tests.corpora.layouts import FILES
from tests.corpora.made_files import put
from tests.data_root import demo_pairs, write_supervised
from tests.evaluation.sts_files import write_sts

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"
ORDER = (  # guides that use outputs of others come later
    *("train", "use", "generate", "translate", "score", "evaluate", "mine", "align", "corpora"),
    *("clean", "convert", "publish", "space", "browser", "paraphrase"),
)
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in (ROOT / "README.md", *(GUIDES / f"{name}.md" for name in ORDER))
}
NOT_RUN = {  # start of a line -> why it does not run here
    "make": "sets up an environment from a package index; CI does",
    "pip install": "downloads from a package index; tests/check_wheel.py installs the wheel",
    "source .venv": "needs an interactive shell",
    "python benchmarks": "takes minutes and peers; tests/recipes has their options",
    "python hub_cards/spaces": "serves until it is stopped; tests/space tests it",
    "paraphrastic train default/english ": "downloads its teacher",
    "paraphrastic corpus make paranmt-2018": "takes minutes; tests/pipelines makes corpora",
    "paraphrastic corpus make mine.yaml": "needs a cluster; tests/pipelines has one",
    "paraphrastic evaluate runs/mine --suite all": "takes minutes; tests/evaluation has all suites",
}
SMALL = "--vocab_size 200 --hidden_size 8 --epochs 1"
SMALLER = {  # start of a command -> options added to it
    "train recipes/simple-and-effective-2019/own.yaml": SMALL,
    "train own ": SMALL,
    "tune": "--vocab_size 200 --hidden_size 8 --quiet",
    "train recipes/towards-universal-2016": "--epochs 1",
    "train recipes/charagram-2016": f"{SMALL} --batch_size 8",
    "train recipes/language-model": "--vocab_size 120 --hidden_size 8 --heads 2 --feed_forward 16 "
    "--held_out 5 --batch_tokens 400",
    "train bilingual-generative-2020": "--vocab_size 150 --hidden_size 8 --state_size 8 --heads 2 "
    "--feed_forward 16 --held_out 5 --epochs 1",
    "train beyond-bleu-2019/small-mle": "--vocab_size 150 --hidden_size 8 --held_out 5 --epochs 1",
    "train beyond-bleu-2019/small-minimum-risk": "--held_out 5 --steps 2 --candidates.count 2",
    **dict.fromkeys(("translate", "transfer"), "--max-tokens 5"),
    "paraphrase": "--beams 1 --max-tokens 5",
    **dict.fromkeys(("significance", "simile", "compare", "judge"), "--samples 20"),
}
SKIPPING = 3  # exit status with missing files, since few exist here
OF_FEW_FILES = ("paraphrastic significance english multilingual",)
LANGUAGE_MODEL_SOURCES = (
    *("en-fr/tatoeba", "en-en/indian_mturk_translations", "en-en/fisher_4refs"),
    *("en-en/coco_val2017_captions", "en-en/wiki_auto_gem_valid", "en-en/onestop_english"),
    "en-en/suttacentral",
)


@dataclass(frozen=True)
class Block:
    """A code block of a Markdown file: number of its first line, language and text."""

    line: int
    language: str
    text: str


def blocks(markdown):
    """Return the fenced blocks, and the indented ones, which are shell."""
    found, lines, number = [], markdown.splitlines(), 0
    while number < len(lines):
        start = number
        if lines[number].startswith("```"):
            number = lines.index("```", number + 1)
            language = lines[start].removeprefix("```")
            found.append(Block(start + 2, language, "\n".join(lines[start + 1 : number])))
        elif lines[number].startswith("    ") and not (start and lines[start - 1].strip()):
            while number < len(lines) and lines[number].startswith("    "):
                number += 1
            found.append(
                Block(start + 1, "sh", "\n".join(line[4:] for line in lines[start:number]))
            )
        number += 1
    return found


def commands(text):
    """Return the commands of a shell block, with joined lines and without comments."""
    joined = re.sub(r"\\\n\s*", "", text)
    bare = (re.sub(r"(^|\s)#.*", "", line).strip() for line in joined.splitlines())
    return [line for line in bare if line]


def is_run(command):
    return not command.startswith(tuple(NOT_RUN))


def expanded(word):
    """Expand the stars in a word of a command, as a shell does."""
    return sorted(map(str, Path().glob(word))) if "*" in word else [word]


def run(command):
    """Run a command of this package, with smaller settings."""
    program, *words = shlex.split(command)
    assert program == "paraphrastic", f"{command!r} neither runs here nor is in NOT_RUN"
    rest = command.removeprefix("paraphrastic ")
    more = " ".join(options for start, options in SMALLER.items() if rest.startswith(start))
    status = main([*(path for word in words for path in expanded(word)), *more.split()])
    assert status == (SKIPPING if command.startswith(OF_FEW_FILES) else 0), command


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the files that the pages expect."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARAPHRASTIC_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PARAPHRASTIC_DATA", raising=False)
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    pairs = demo_pairs()
    firsts, seconds = ("".join(f"{pair[side]}\n" for pair in pairs) for side in (0, 1))
    both = "".join(f"{a}\t{b}\n" for a, b in pairs)
    bitext = (ROOT / "recipes/default/en-fr.tsv").read_text().splitlines()
    english, french = ("".join(line.split("\t")[side] + "\n" for line in bitext) for side in (0, 1))
    put(
        tmp_path,
        {
            **{"mine.tsv": both, "pairs.tsv": both, "lines.txt": firsts},
            **{"text.en": english, "text.fr": french, "en.txt": english, "fr.txt": french},
            **{"before.fr": english, "after.fr": french, "reference.fr": french},
            **{"reference.txt": firsts, "system.txt": seconds},
            **{"baseline.txt": "".join(f"{b}\n" for _, b in pairs[1:] + pairs[:1])},
            **{"source.txt": english, "style.txt": english},
            **{"new.txt": seconds, "para-nmt-50m/para-nmt-50m.txt": paranmt(pairs)},
        },
    )
    write_released(tmp_path)
    write_data(tmp_path / "DATA", both)
    return tmp_path


def paranmt(pairs):
    return "".join(f"{a}\t{b}\t0.{number % 9 + 1}\n" for number, (a, b) in enumerate(pairs))


def write_data(root, both):
    """Write the data folder: training corpora, and official evaluation files in `eval`."""
    put(root, {f"train/{name}.tsv.xz": both for name in LANGUAGE_MODEL_SOURCES})
    words = sorted(set(re.findall(r"[a-z]+", both.lower())))
    counts = "".join(f"{word}\t{1000 - number}\n" for number, word in enumerate(words))
    put(root, {"words/enwiki_vocab_min200.txt.xz": "huge\t2000\n" + counts})
    put(root / "eval", dict(FILES))
    write_sts(root / "eval")
    for kind, line in (("input", "The dog bites the man.\tThe dog bites a man.\n"), ("gs", "0\n")):
        with (root / "eval" / "sts12" / f"STS.{kind}.MSRpar.txt").open("a") as file:
            file.write(line)  # nearly the same words with another meaning, for Hard-
    write_supervised(root)


def write_released(folder):
    """Write word vectors and checkpoints in the formats of the papers' releases."""
    rng = np.random.default_rng(0)
    vectors = (f"{word} {' '.join(map(str, rng.normal(size=4).round(3)))}\n" for word in WORDS)
    (folder / "paragram-phrase-XXL.txt").write_text("".join(vectors))
    trigrams = [" th", "the", "he ", " ca", "cat", UNKNOWN]
    tables = random_arrays(rng, (len(trigrams), 4), (len(WORDS), 4))
    rows = tuple({name: row for row, name in enumerate(names)} for names in (trigrams, WORDS))
    save(folder / "ngram-word-concat-40.pickle", [*tables, rows])
    stream = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([side.lower() for pair in demo_pairs() for side in pair]),
        model_writer=stream,
        vocab_size=150,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (folder / "paranmt.model").write_bytes(stream.getvalue())
    pieces = sentencepiece.SentencePieceProcessor(model_proto=stream.getvalue())
    names = [pieces.id_to_piece(number) for number in range(3, pieces.get_piece_size())]
    saved = {
        "state_dict": {"embedding.weight": torch.randn(len(names) + 1, 4)},
        "vocab": {name: row for row, name in enumerate([*names, UNKNOWN])},
        "vocab_fr": None,
        "args": argparse.Namespace(
            sp_model="paranmt.model", model="avg", pool="mean", zero_unk=1, ngrams=0, lower_case=1
        ),
    }
    torch.save(saved, folder / "model.para.lc.100.pt")


def run_page(page):
    """Run the blocks of a page in order."""
    for block in blocks(PAGES[page]):
        place = f"{page}, line {block.line}"
        try:
            if block.language == "python":
                names: dict[str, Any] = {"__name__": "__main__"}
                exec(compile(block.text, place, "exec"), names)
            elif block.language == "sh":
                for command in filter(is_run, commands(block.text)):
                    run(command)
        except BaseException as error:
            error.add_note(f"{place}:\n{block.text}")
            raise


def test_the_readme_runs(folder):
    run_page("README.md")
    assert (folder / "runs" / "mine").is_dir()


@pytest.mark.slow
def test_the_readme_and_the_guides_run(folder):
    for page in PAGES:
        run_page(page)


def test_every_guide_is_run():
    elsewhere = {"integrations", "cluster", "serve"}  # tests/integrations/
    assert {path.stem for path in GUIDES.glob("*.md")} == set(ORDER) | elsewhere


def test_the_cosines_in_the_guide_are_current():
    """After retraining the packaged model, update the table with its cosines."""
    row = re.compile(r"^\| [^|]*\| (-?\d\.\d\d) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
    written, first, second = zip(*row.findall(PAGES["docs/guides/use.md"]), strict=True)
    assert len(written) >= 7
    encoder = SentenceEncoder.from_pretrained("english")
    left, right = (
        encoder.encode(list(texts), normalize_embeddings=True) for texts in (first, second)
    )
    assert [f"{cosine:.2f}" for cosine in (left * right).sum(1)] == list(written)
