"""Small files of every kind that the package reads, for `damaged.py`."""

from __future__ import annotations

import gzip
import io
import lzma
import pickle
import re
import tarfile
import zipfile
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch

from paraphrastic_hf.config.recipe import to_yaml
from paraphrastic_hf.conversion.convert import convert
from paraphrastic_hf.conversion.release import Choices
from paraphrastic_hf.corpora.readers.words import load_vectors
from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.encoders.storage.directory import (
    GENERATIVE,
    LANGUAGE_MODEL,
    PARSER,
    SUPERVISED,
    TAGGER,
    TRANSLATION,
    save_model,
)
from paraphrastic_hf.evaluation.page import merge, write_page
from paraphrastic_hf.generation.latent import LatentGenerator
from paraphrastic_hf.generation.likelihood import LanguageScorer
from paraphrastic_hf.generation.templated import TemplatedWriter
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.generation.writing import GenerationOptions
from paraphrastic_hf.io.archives import unpack
from paraphrastic_hf.io.files import write_json
from paraphrastic_hf.io.pairs import read_pairs
from paraphrastic_hf.models.encoders.averaging import AveragingConfig
from paraphrastic_hf.models.encoders.mixed import MixedConfig, MixedModel
from paraphrastic_hf.models.encoders.recurrent import RecurrentConfig, RecurrentModel
from paraphrastic_hf.models.generative.bgt import BGTConfig, BGTModel
from paraphrastic_hf.models.generative.mgt import MGTConfig, MGTModel
from paraphrastic_hf.models.seq2seq.gated_conv import GatedConvConfig, GatedConvModel
from paraphrastic_hf.models.seq2seq.language_model import LanguageModel, LanguageModelConfig
from paraphrastic_hf.models.seq2seq.scpn import ScpnConfig, ScpnModel
from paraphrastic_hf.models.seq2seq.ssru import SsruConfig, SsruModel
from paraphrastic_hf.models.supervised.classifier import ClassifierConfig, ClassifierModel
from paraphrastic_hf.models.supervised.parser import ParserConfig, ParserModel
from paraphrastic_hf.models.supervised.relatedness import RelatednessConfig, RelatednessModel
from paraphrastic_hf.models.supervised.tagger import TaggerConfig, TaggerModel
from paraphrastic_hf.predictors.parser import SentenceParser
from paraphrastic_hf.predictors.predict import SentencePredictor
from paraphrastic_hf.predictors.tagger import Tagger
from paraphrastic_hf.syntax.parse_tokens import parse_tokenizer
from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from paraphrastic_hf.training.kinds import load_recipe
from tests.generation.seq2seq import save_marian
from tests.texts import SENTENCES

RECIPES = Path(__file__).parents[2] / "recipes"
TAGS = ["A", "B", "C"]
TEXTS = [f"{text} {number}" for number in range(9) for text in SENTENCES]


@dataclass(frozen=True)
class Subject:
    """Files to damage.

    Attributes:
        make: Function that writes good files to an empty folder.
        read: Function that returns their content or raises AssertionError if it is incomplete.
    """

    make: Callable[[Path], None]
    read: Callable[[Path], Any]


def words() -> WordTokenizer:
    return WordTokenizer.train(SENTENCES, vocab_size=100)


def average(tokenizer: Any) -> AveragingConfig:
    return AveragingConfig(vocab_size=tokenizer.vocab_size, hidden_size=6)


def save_average(tokenizer: Any, folder: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(tokenizer.vocab_size, 8))
    SentenceEncoder.from_table(rows, tokenizer).save_pretrained(folder)


def save_random(model: Any, config: Any, tokenizer: Any, folder: Path, kind: Any) -> None:
    torch.manual_seed(0)
    save_model(model(config), tokenizer, folder, kind)


def save_encoder(model: Any, config: Any, tokenizer: Any, folder: Path) -> None:
    torch.manual_seed(0)
    SentenceEncoder(model(config).eval(), tokenizer).save_pretrained(folder)


def encode(folder: Path) -> np.ndarray:
    vectors = SentenceEncoder.from_pretrained(folder, num_threads=1).encode(TEXTS)
    assert vectors.ndim == 2
    assert len(vectors) == len(TEXTS)
    assert vectors.dtype == np.float32
    return vectors


def make_recurrent(folder: Path) -> None:
    tokenizer = words()
    config = RecurrentConfig(vocab_size=tokenizer.vocab_size, hidden_size=6)
    save_encoder(RecurrentModel, config, tokenizer, folder)


def make_mixture(folder: Path) -> None:
    parts: list[Any] = [words(), CharNgramTokenizer.train(SENTENCES, vocab_size=200)]
    config = MixedConfig.of(list(map(average, parts)), "add")
    save_encoder(MixedModel, config, MixedTokenizer(parts), folder)


def make_head(model: Any, config: Any, folder: Path, **settings: Any) -> None:
    tokenizer = words()
    encoder = average(tokenizer).to_dict()
    save_random(model, config(encoder=encoder, **settings), tokenizer, folder, SUPERVISED)


def predict(folder: Path) -> Any:
    found = SentencePredictor.from_pretrained(folder).predict(SENTENCES, SENTENCES[::-1])
    assert len(found) == len(SENTENCES)
    return found


def make_structured(model: Any, config: Any, kind: Any, folder: Path, *labels: list[str]) -> None:
    tokenizer = CharNgramTokenizer.train(SENTENCES, vocab_size=200, orders=[2, 3])
    encoder = average(tokenizer).to_dict()
    chosen = config.of(encoder, *labels, head_size=4, recurrent_std=1.0)
    save_random(model, chosen, tokenizer, folder, kind)


def tag(folder: Path) -> Any:
    sentences = [text.split() for text in SENTENCES]
    found = Tagger.from_pretrained(folder).tag(sentences)
    assert [len(tags) for tags in found] == [len(words) for words in sentences]
    return found


def parse(folder: Path) -> Any:
    found = SentenceParser.from_pretrained(folder).parse(SENTENCES)
    assert [each.tree.words() for each in found] == [each.words for each in found]
    return [(str(each.tree), each.problem) for each in found]


def make_language_model(folder: Path) -> None:
    tokenizer = MarkedTokenizer(words(), "both")
    config = LanguageModelConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        bos_token_id=tokenizer.special.start[0],
        eos_token_id=tokenizer.special.end[0],
    )
    save_random(LanguageModel, config, tokenizer, folder, LANGUAGE_MODEL)


def perplexity(folder: Path) -> Any:
    found = LanguageScorer.from_pretrained(folder).score(SENTENCES)
    assert len(found.nats) == len(SENTENCES)
    return found.nats, found.tokens


def save_writer(model: Any, config: Any, kind: Any, sizes: dict[str, int], folder: Path) -> None:
    tokenizer = MarkedTokenizer(words(), "end")
    (end,) = tokenizer.special.end
    marks = {"eos_token_id": end, "decoder_start_token_id": end}
    settings = {"vocab_size": tokenizer.vocab_size, "hidden_size": 8, **marks, **sizes}
    save_random(model, config(**settings), tokenizer, folder, kind)


LATENT = {"num_attention_heads": 2, "encoder_layers": 1, "intermediate_size": 8}
CONV = {
    "embedding_size": 8,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "max_position_embeddings": 64,
}
TEMPLATED = {"embedding_size": 8, "template_vocab_size": parse_tokenizer().vocab_size}
TEMPLATED |= {"template_hidden_size": 4, "template_embedding_size": 4}
SSRU = {"template_vocab_size": parse_tokenizer().vocab_size, "heads": 2, "feed_forward": 8}
SSRU |= {"encoder_layers": 1, "decoder_layers": 1}
SHORT = GenerationOptions(beams=2, max_tokens=8)


def reconstruct(folder: Path) -> Any:
    generator = LatentGenerator.from_pretrained(folder)
    found = generator.reconstruct(SENTENCES[:3], language="en", writing=SHORT)
    return generator.model.variables(), found


def translate(folder: Path) -> Any:
    return Translator.from_pretrained(folder).translate(SENTENCES[:3], beams=2, max_tokens=8)


def paraphrase(folder: Path) -> Any:
    templates = [["( ROOT ( S ( NP ) ( VP ) ) )"]] * 2
    return TemplatedWriter.from_pretrained(folder).write(SENTENCES[:2], templates, SHORT)


VECTORS = "".join(
    f"word{n} {' '.join(f'{x:.3f}' for x in np.random.default_rng(n).normal(size=8))}\n"
    for n in range(300)
).encode()
PAIRS = "".join(f"{a}\t{b}\n" for a, b in pairwise(TEXTS)).encode()
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".xz": lzma.compress,
}


def in_zip(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def write_tar(name: str, folder: Path) -> None:
    path, members = folder / name, MEMBERS
    with tarfile.open(path, f"w:{path.suffix[1:]}" if path.suffix != ".tar" else "w") as packed:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            packed.addfile(info, io.BytesIO(data))


def read_vectors(folder: Path) -> Any:
    (path,) = folder.iterdir()
    words, table = load_vectors(path)
    assert np.isfinite(table).all()
    assert len(words) == len(set(words)) == len(table)
    return words, table


def pairs_of(folder: Path) -> Any:
    (path,) = folder.iterdir()
    pairs = read_pairs(path)
    assert all(a.strip() and b.strip() for a, b in pairs)
    return pairs


def unpacked(folder: Path) -> Any:
    """Return the content of an archive, or check that no files are left if it is refused."""
    (path,) = folder.iterdir()
    target = folder / "out"
    try:
        unpack(path, target)
    except BaseException:
        left = [each.name for each in folder.iterdir() if each.suffix != ".lock"]
        assert left == [path.name], left
        raise
    files = sorted(each for each in target.rglob("*") if each.is_file())
    return [(each.relative_to(target).as_posix(), each.read_bytes()) for each in files]


def converted(folder: Path) -> Any:
    """Return vectors of a converted release, or check that no files are left."""
    (path,) = folder.iterdir()
    target = folder / "out"
    try:
        convert(path, target, Choices(kind="words"))
    except BaseException:
        assert [each.name for each in folder.iterdir()] == [path.name]
        raise
    return SentenceEncoder.from_pretrained(target, num_threads=1).encode(SENTENCES)


def release() -> tuple[dict[str, int], np.ndarray]:
    vocabulary = sorted({word for text in SENTENCES for word in text.lower().split()})[:80]
    table = np.random.default_rng(0).normal(size=(len(vocabulary), 6)).astype(np.float32)
    return {word: row for row, word in enumerate(vocabulary)}, table


def make_theano(folder: Path) -> None:
    rows, table = release()
    value = [table, rows]
    (folder / "model.pickle").write_bytes(pickle.dumps(value, 2))


def make_torch(folder: Path, is_zip: bool) -> None:
    rows, table = release()
    value = {
        "state_dict": {"embedding.weight": torch.from_numpy(table)},
        "vocab": rows,
        "args": Namespace(model="avg", pool="mean", zero_unk=1, ngrams=0, lower_case=1),
    }
    torch.save(value, folder / "model.pt", _use_new_zipfile_serialization=is_zip)


def make_dataset(folder: Path) -> None:
    sides = {"a": SENTENCES, "b": SENTENCES[::-1]}
    datasets.Dataset.from_dict(sides).save_to_disk(str(folder / "pairs"))


def make_results(folder: Path) -> None:
    for model in ("one", "two"):
        rows = [{"group": "2012", "name": "MSRpar", "size": 750, "scores": {"pearson": 61.5}}]
        results = {
            **{"model": model, "suite": "sts", "summary": "STS", "unit": "Pearson x 100"},
            **{"headline": {"2012": 61.5}, "papers": {"thesis": {"2012": 60.5}}, "rows": rows},
            **{"notes": ["a note"], "skipped": {"2013": "no file"}, "not_applicable": {}},
            **{"settings": {"weights": "abc"}, "seconds": 0.2, "peak_memory": 12345},
        }
        (folder / model).mkdir()
        write_json(folder / model / "sts.json", results)


def report(folder: Path) -> Any:
    """Return the pages of a report, or check that no files are left."""
    try:
        sections = merge([folder / "one", folder / "two"])
        pages = write_page(sections, folder / "report")
    except BaseException:
        assert not (folder / "report").exists()
        raise
    return [re.sub('src="[^"]*"', "", page.read_text("utf-8")) for page in pages]


def recipe(folder: Path) -> str:
    (path,) = folder.iterdir()
    return to_yaml(load_recipe(path))


def writes(name: str, data: bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return write


def average_of(train: Callable[[], Any]) -> Subject:
    return Subject(lambda folder: save_average(train(), folder), encode)


MEMBERS = {"a.txt": PAIRS, "deep/b.txt": VECTORS, "deep/empty": b""}
SUBJECTS: dict[str, Subject] = {
    "model of pieces": average_of(lambda: SubwordTokenizer.train(SENTENCES, vocab_size=300)),
    "model of words": average_of(lambda: WordTokenizer.train(SENTENCES, vocab_size=150)),
    "model of characters": average_of(lambda: CharTokenizer.train(SENTENCES, vocab_size=60)),
    "model of n-grams": average_of(lambda: CharNgramTokenizer.train(SENTENCES, vocab_size=300)),
    "recurrent model": Subject(make_recurrent, encode),
    "mixture": Subject(make_mixture, encode),
    "predictor": Subject(partial(make_head, RelatednessModel, RelatednessConfig), predict),
    "tagger": Subject(lambda f: make_structured(TaggerModel, TaggerConfig, TAGGER, f, TAGS), tag),
    "language model": Subject(make_language_model, perplexity),
    "classifier": Subject(
        partial(make_head, ClassifierModel, ClassifierConfig, num_labels=2, pairs=True), predict
    ),
    "parser": Subject(
        lambda f: make_structured(ParserModel, ParserConfig, PARSER, f, TAGS, ["NP", "S+VP"]), parse
    ),
    "BGT": Subject(partial(save_writer, BGTModel, BGTConfig, GENERATIVE, LATENT), reconstruct),
    "MGT": Subject(partial(save_writer, MGTModel, MGTConfig, GENERATIVE, LATENT), reconstruct),
    "Marian": Subject(save_marian, translate),
    "gated convolution": Subject(
        partial(save_writer, GatedConvModel, GatedConvConfig, TRANSLATION, CONV), translate
    ),
    "SCPN": Subject(
        partial(save_writer, ScpnModel, ScpnConfig, TRANSLATION, TEMPLATED), paraphrase
    ),
    "SSRU": Subject(partial(save_writer, SsruModel, SsruConfig, TRANSLATION, SSRU), paraphrase),
    **{
        f"vectors.txt{end}": Subject(writes(f"v.txt{end}", pack(VECTORS)), read_vectors)
        for end, pack in PACKED.items()
    },
    "vectors.zip": Subject(lambda f: in_zip(f / "v.zip", {"v.txt": VECTORS}), read_vectors),
    **{
        f"pairs.tsv{end}": Subject(writes(f"p.tsv{end}", pack(PAIRS)), pairs_of)
        for end, pack in PACKED.items()
    },
    "saved dataset": Subject(make_dataset, pairs_of),
    "Theano release": Subject(make_theano, converted),
    "PyTorch release": Subject(lambda folder: make_torch(folder, True), converted),
    "PyTorch release, older": Subject(lambda folder: make_torch(folder, False), converted),
    "archive.zip": Subject(lambda folder: in_zip(folder / "a.zip", MEMBERS), unpacked),
    **{
        f"archive.tar{end}": Subject(partial(write_tar, f"a.tar{end}"), unpacked)
        for end in ("", ".gz", ".xz", ".bz2")
    },
    "recipe": Subject(
        writes("r.yaml", (RECIPES / "paranmt-2018" / "blstm.yaml").read_bytes()), recipe
    ),
    "results": Subject(make_results, report),
}
