"""One directory, every loader: this package, transformers (with and without it),
sentence-transformers."""

import json
from typing import Any

import huggingface_hub
import numpy as np
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.encoders.load import load_encoder
from paraphrastic_hf.encoders.storage.locate import check_model_name, local_directory
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.io.files import WEIGHTS
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer
from tests import fresh
from tests.data_root import demo_pairs
from tests.made import averaging, with_rows

TEXTS = [
    *("The cat sleeps.", "", "☃☃", "the <pad> cat <unk>", "don't", "a\tb\0c"),
    "the  ﬁsh\u00a0AND the cafe\u0301",
]
KINDS = {
    "sentencepiece": (SubwordTokenizer, {"vocab_size": 200, "character_coverage": 1.0}),
    "word": (WordTokenizer, {"vocab_size": 300}),
    "char_ngram": (CharNgramTokenizer, {"vocab_size": 1000}),
}

BLOCK = """
import sys, json
import numpy as np
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "paraphrastic_hf":
            raise ImportError("this process must do without " + name)
directory, output, texts = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
"""
BLOCKED = BLOCK + "sys.meta_path.insert(0, Block())\n"
AUTO = """
from transformers import AutoConfig, AutoModel, AutoTokenizer
import torch
tokenizer = AutoTokenizer.from_pretrained(directory, **options)
config = AutoConfig.from_pretrained(directory, **options)
model = AutoModel.from_pretrained(directory, **options).eval()
with torch.no_grad():
    output_ = model(**tokenizer(texts, padding=True, return_tensors="pt"))
assert output_.last_hidden_state.shape[0] == len(texts)
assert torch.equal(output_.pooler_output, output_.sentence_embedding)
np.save(output, output_.sentence_embedding.numpy())
"""
STOCK = """
from sentence_transformers import SentenceTransformer
np.save(output, SentenceTransformer(directory, **options).encode(texts))
"""
ROUTES = {
    "transformers after import": BLOCK + "import paraphrastic_hf\noptions = {}\n" + AUTO,
    "transformers, import last": (
        BLOCK + "import transformers\nimport paraphrastic_hf\noptions = {}\n" + AUTO
    ),
    "transformers without the package": BLOCKED + "options = {'trust_remote_code': True}\n" + AUTO,
    "sentence-transformers without the package": BLOCKED + "options = {}\n" + STOCK,
    "sentence-transformers through the bridge": (
        BLOCK + "options = {'trust_remote_code': True}\n" + STOCK
    ),
}


@pytest.fixture(scope="module", params=KINDS)
def saved(request, tmp_path_factory):
    kind, settings = KINDS[request.param]
    tokenizer = kind.train([text for pair in demo_pairs() for text in pair], **settings)
    directory = tmp_path_factory.mktemp("models") / request.param
    averaging(tokenizer, 16).save_pretrained(directory)
    return request.param, directory


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
def test_a_fresh_process_gets_the_same_vectors(route, saved, tmp_path):
    kind, directory = saved
    if kind == "char_ngram" and route == "sentence-transformers without the package":
        pytest.skip("no stock tokenizer supports overlapping n-grams")
    expected, output = SentenceEncoder.from_pretrained(directory).encode(TEXTS), tmp_path / "v.npy"
    done = fresh.run(ROUTES[route], str(directory), str(output), json.dumps(TEXTS))
    assert done.returncode == 0, done.stderr[-3000:]
    # 1e-5 is documented: means of the same float32 rows, summed in another order
    np.testing.assert_allclose(np.load(output), expected, atol=1e-5)


def test_odd_texts_are_encoded_and_saving_again_changes_nothing(saved, tmp_path):
    encoder = SentenceEncoder.from_pretrained(saved[1])
    assert np.isfinite(encoder.encode(["lone \ud800 surrogate", "the cat " * 130_000])).all()
    np.testing.assert_array_equal(encoder.encode(["nul\0byte"]), encoder.encode(["nul byte"]))
    assert not encoder.similarity(["", "☃"], ["the cat", "☃", " \t "]).any()
    whole, batches = encoder.encode(TEXTS), encoder.encode(TEXTS, batch_size=3)
    np.testing.assert_allclose(batches, whole, atol=1e-6)
    encoder.save_pretrained(tmp_path / "again")
    again = SentenceEncoder.from_pretrained(tmp_path / "again")
    np.testing.assert_array_equal(again.encode(TEXTS), whole)
    assert {p.name for p in saved[1].iterdir()} == {p.name for p in (tmp_path / "again").iterdir()}


def test_damaged_directories_are_refused(saved, tmp_path):
    """`load_encoder` refuses them too, because no other library may load them."""
    encoder = SentenceEncoder.from_pretrained(saved[1])
    table = encoder.model.embedding.weight.detach().clone()
    huge = table.double() + 1e300
    table[5] = float("nan")
    for name in ("cut", "bare", "nan", "huge"):
        encoder.save_pretrained(tmp_path / name)
    weights = tmp_path / "cut" / WEIGHTS
    weights.write_bytes(weights.read_bytes()[:-100])
    (tmp_path / "bare" / "config.json").unlink()
    for name, rows in (("nan", table), ("huge", huge)):
        save_file({"embedding.weight": rows}, tmp_path / name / WEIGHTS, {"format": "pt"})
    for name in ("absent", "cut", "bare", "nan", "huge"):
        for load in (SentenceEncoder.from_pretrained, load_encoder):
            with pytest.raises(ModelError):
                load(tmp_path / name)
    for bad in (np.full((3, 2), 1e300), np.ones((3, 0)), np.ones(3)):
        with pytest.raises(ModelError):
            SentenceEncoder.from_table(bad, WordTokenizer(["cat"]))


def with_nan_score(model: bytes) -> bytes:
    proto = ModelProto.FromString(model)
    proto.pieces[9].score = float("nan")
    return proto.SerializeToString()


def with_other_marks(model: bytes) -> bytes:
    proto = ModelProto.FromString(model)
    proto.trainer_spec.unk_id, proto.trainer_spec.pad_id = 0, 1
    for piece, kind, text in zip(proto.pieces, (2, 3), ("<unk>", "<pad>"), strict=False):
        piece.type, piece.piece = kind, text
    return proto.SerializeToString()


OURS = "paraphrastic_tokenizer.json"
HUGE = b'{"model_type": "paraphrastic-averaging", "vocab_size": 9, "hidden_size": 10000000000}'


@pytest.mark.parametrize(
    ("file", "change"),
    [
        (OURS, b"[" * 100_000),
        (OURS, b'{"kind": "mixed", "parts": 1000000000}'),
        (OURS, b'{"kind": "mixed", "parts": 0}'),
        (OURS, b'{"kind": "sentencepiece", "lowercase": [], "keep_unknown": false}'),
        *(
            ("config.json", new)
            for new in (b"[" * 100_000, b"", b"null", b"\0", b'"text"', b"\xff")
        ),
        ("config.json", b'{"vocab_size": ' + b"9" * 5000 + b"}"),
        ("config.json", b'{"model_type": 3}'),
        ("config.json", HUGE),
        ("spiece.model", lambda old: old.replace("\u2581the".encode(), b"\xff\x96\x81the")),
        *(("spiece.model", change) for change in (with_nan_score, with_other_marks)),
    ],
    ids=range(16),
)
@pytest.mark.filterwarnings("ignore")
def test_absurd_values_in_files_are_refused(file, change, subword, tmp_path):
    with_rows(subword).save_pretrained(tmp_path)
    path = tmp_path / file
    changed = change if isinstance(change, bytes) else change(path.read_bytes())
    assert changed != path.read_bytes()
    path.write_bytes(changed)
    with pytest.raises(ModelError):
        SentenceEncoder.from_pretrained(tmp_path)


def test_a_folder_named_like_a_packaged_model_is_ignored(tmp_path, monkeypatch):
    for name in ("english", "simile"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    for name in (None, "english", "simile"):
        assert SentenceEncoder.from_pretrained(name).name == (name or "english")
    averaging(WordTokenizer(["cat"]), 4).save_pretrained("english")
    assert SentenceEncoder.from_pretrained("english").dimension == 4
    assert SentenceEncoder.from_pretrained().dimension == 512
    assert SentenceEncoder.from_pretrained("simile").dimension == 512


def test_the_bridge_keeps_the_settings_of_sentence_transformers(tmp_path):
    averaging(CharNgramTokenizer(ngrams=["cat"])).save_pretrained(tmp_path / "model")
    options = {"trust_remote_code": True, "device": "cpu", "local_files_only": True}
    theirs = SentenceTransformer(str(tmp_path / "model"), **options)
    theirs.prompts["query"] = "a cat: "
    theirs.similarity_fn_name = "dot"
    theirs.save_pretrained(str(tmp_path / "again"))
    again = SentenceTransformer(str(tmp_path / "again"), **options)
    assert again.prompts["query"] == "a cat: "
    assert again.similarity_fn_name == "dot"
    np.testing.assert_array_equal(again.encode(["cat"]), theirs.encode(["cat"]))


def test_a_silent_hub_is_asked_once(monkeypatch):
    def silent(*arguments: Any, **options: Any) -> str:
        raise LocalEntryNotFoundError("no connection")

    asked: list[dict[str, Any]] = []

    def theirs(name: str, **options: Any) -> None:
        asked.append(options)
        raise OSError("not in the cache")

    monkeypatch.setattr("huggingface_hub.snapshot_download", silent)
    monkeypatch.setattr("sentence_transformers.SentenceTransformer", theirs)
    for name in ("someone/model", "bert-base"):
        with pytest.raises(ModelError):
            load_encoder(name)
    assert [each["local_files_only"] for each in asked] == [True, True]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with two trained models."""
    monkeypatch.chdir(tmp_path)
    for name in ("word", "trigram"):
        (tmp_path / "trained" / name).mkdir(parents=True)
        (tmp_path / "trained" / name / "config.json").touch()
    return tmp_path


@pytest.fixture
def asked(monkeypatch):
    """Names looked up on the Hub, which has no models."""
    names: list[str] = []

    def snapshot_download(name: str, **_: Any) -> str:
        names.append(name)
        raise OSError("no network in this test")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return names


@pytest.mark.parametrize(
    "name",
    [
        *("/no/such", "./sp", "../sp", "~/sp", "runs/sp", "a/b/c", "sp/", "trained/char"),
        *("C:\\models\\sp", "model.pt", "someone/model.safetensors", "vectors.txt.gz"),
    ],
)
def test_paths_are_not_looked_up_on_the_hub(name, here, asked):
    for load in (local_directory, load_encoder):
        with pytest.raises(ModelError):
            load(name)
    assert asked == []


def test_files_and_misspelled_paths_are_refused(here):
    (here / "sp").touch()
    given = ("trained/wrod", "trained/word"), (here / "trained/trigrams", "trigram"), ("sp", "sp")
    for name, named in given:
        with pytest.raises(ModelError, match=named):
            check_model_name(name)


@pytest.mark.parametrize("name", ["someone/sp", "all-MiniLM-L6-v2", "gpt2", "someone/english-2.0"])
def test_other_names_are_looked_up_on_the_hub(name, here, asked):
    with pytest.raises(ModelError):
        local_directory(name)
    assert asked == [name]


@pytest.mark.parametrize(
    "name", ["english", "multilingual", "tiny", "simile", "trained/word", "trained", "englsh"]
)
def test_existing_models_and_folders_are_accepted(name, here):
    (here / "englsh").mkdir()
    check_model_name(name)
