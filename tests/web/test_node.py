"""The npm package under Node, compared with Python."""

import hashlib
import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import paraphrastic_hf
from paraphrastic_hf import SentenceEncoder, mine, token_contributions
from paraphrastic_hf.encoders.storage.locate import packaged_folder
from tests.web.texts import texts

HERE = Path(__file__).parent
WEB = HERE.parents[1] / "web"
ENCODE, CALL, MEMORY = HERE / "encode.mjs", HERE / "call.mjs", HERE / "memory.mjs"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def node(*arguments):
    command = ["node", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def call(model, method, *arguments):
    """Return what a method of the JavaScript encoder returns."""
    return json.loads(node(CALL, model, method, json.dumps(arguments)))


def vectors_in_node(model, lines, folder):
    (folder / "texts.json").write_text(json.dumps(lines))
    node(ENCODE, folder, model)
    return np.fromfile(folder / "vectors.f32", np.float32).reshape(len(lines), -1)


def compare(model, lines, folder):
    expected = SentenceEncoder.from_pretrained(model).encode(lines)
    np.testing.assert_allclose(vectors_in_node(model, lines, folder), expected, rtol=0, atol=1e-6)


def test_the_engine_was_compiled_from_these_sources():
    """If this fails, run `make wasm`."""
    for line in (WEB / "paraphrastic.sha256").read_text().splitlines():
        checksum, path = line.split()
        content = (WEB.parent / path).read_bytes()
        assert hashlib.sha256(content).hexdigest() == checksum, path
    assert (WEB / "paraphrastic.wasm").stat().st_size < 100_000


@needs_node
@pytest.mark.parametrize("name", ["tiny", "multilingual"])
def test_vectors_equal_those_of_python(name, tmp_path):
    compare(packaged_folder(name), texts(3000), tmp_path)


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny", "english", "multilingual"])
def test_vectors_of_many_texts_equal_those_of_python(name, tmp_path):
    compare(packaged_folder(name), texts(50_000, seed=1), tmp_path)


@needs_node
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16", "int8", "int4"])
@pytest.mark.parametrize("dimension", [1, 7, 80])
def test_every_storage_is_read(precision, dimension, tmp_path):
    encoder = SentenceEncoder.from_pretrained("tiny").with_dimension(dimension)
    encoder.save_pretrained(tmp_path / "model", precision=precision)
    compare(tmp_path / "model", texts(200), tmp_path)


@needs_node
def test_similarity_and_contributions():
    encoder = SentenceEncoder.from_pretrained("tiny")
    first, second = "The doctor examined the child.", "Le physician looked at the boy ☃."
    expected = token_contributions(encoder, first, second)
    found = call(packaged_folder("tiny"), "contributions", first, second)
    assert (tuple(found["first"]), tuple(found["second"])) == (expected.first, expected.second)
    np.testing.assert_allclose(found["pairs"], expected.pairs.ravel(), atol=1e-9)
    lines = [first, "", second, "猫"]
    cosines = call(packaged_folder("tiny"), "similarity", lines, lines)
    np.testing.assert_allclose(cosines, encoder.similarity(lines, lines).ravel(), atol=2e-6)
    cosine = call(packaged_folder("tiny"), "similarity", first, second)
    np.testing.assert_allclose(cosine, encoder.similarity(first, second).item(), atol=2e-6)


@needs_node
def test_neighbors_and_pairs_equal_those_of_python():
    encoder = SentenceEncoder.from_pretrained("tiny")
    choice = random.Random(0)
    words = [token[1:] for token in encoder.tokenizer.tokens() if re.fullmatch("▁[a-z]{3,}", token)]
    source = [" ".join(choice.choices(words, k=choice.randrange(3, 12))) for _ in range(1500)]
    target = [" ".join(choice.sample(line.split(), 3)) for line in source[:1200]]
    cosines = encoder.similarity(source[:20], target)
    found = call(packaged_folder("tiny"), "neighbors", source[:20], target, {"k": 3})
    for row, nearest in zip(cosines, found, strict=True):
        expected = np.sort(row)[::-1][: len(nearest)]
        np.testing.assert_allclose([near["similarity"] for near in nearest], expected, atol=2e-6)
        np.testing.assert_allclose(row[[near["index"] for near in nearest]], expected, atol=2e-6)
    pairs = mine(encoder.encode(source), encoder.encode(target))
    mined = call(packaged_folder("tiny"), "mine", source, target)
    assert len(mined) > 1000
    same = {(pair["source"], pair["target"]) for pair in mined}
    expected_pairs = set(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True))
    assert len(same ^ expected_pairs) <= len(same) // 200  # cosines differ in the last digit


@needs_node
def test_damaged_and_foreign_models_are_refused(tmp_path):
    model = shutil.copytree(packaged_folder("tiny"), tmp_path / "model")
    for name, content in {
        "spiece.model": b"\xff" * 100,
        "model.safetensors": b"\x00" * 100,
        "config.json": b'{"model_type": "bert"}',
        "paraphrastic_tokenizer.json": b'{"kind": "word"}',
    }.items():
        whole = (model / name).read_bytes()
        for damaged in (content, whole[: len(whole) - len(whole) // 3]):
            (model / name).write_bytes(damaged)
            outcome = subprocess.run(["node", CALL, model, "tokens", '["a"]'], capture_output=True)
            assert outcome.returncode == 1, name
        (model / name).write_bytes(whole)


@needs_node
@pytest.mark.parametrize("wrong", [[None], [3], ["a", None]])
def test_other_values_than_strings_are_refused(wrong):
    arguments = json.dumps([wrong])
    command = ["node", str(CALL), str(packaged_folder("tiny")), "encode", arguments]
    outcome = subprocess.run(command, capture_output=True, text=True)
    assert "TypeError" in outcome.stderr
    assert f"texts[{len(wrong) - 1}]" in outcome.stderr


@needs_node
@pytest.mark.slow
def test_memory_is_bounded():
    halfway, loaded, filled, encoded = json.loads(
        node("--expose-gc", MEMORY, packaged_folder("english"))
    )
    assert loaded - halfway < 60  # the other 20 encoders have 17 MB each
    assert encoded - filled < 60  # the engine remembers at most a million words


def test_the_npm_package_is_complete():
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    command = ["npm", "pack", "--dry-run", "--json", "--offline"]
    done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, check=True)
    (package,) = json.loads(done.stdout)
    code = {"paraphrastic.js", "paraphrastic.d.ts", "paraphrastic.wasm"}
    files = {file["path"] for file in package["files"]}
    assert files == {*code, "package.json", "README.md", "LICENSE"}
    assert (WEB / "LICENSE").read_bytes() == (WEB.parent / "LICENSE").read_bytes()
    assert package["version"] == paraphrastic_hf.__version__


def test_the_types_name_every_function():
    code = (WEB / "paraphrastic.js").read_text().split("\nclass ")[0]
    typed = (WEB / "paraphrastic.d.ts").read_text()
    methods = re.findall(r"^  (?:static |async )*([a-z]\w+)\(.*\{$", code, re.MULTILINE)
    assert {"load", "encode", "mine"} <= set(methods)
    assert [name for name in methods if not re.search(rf"\b{name}\(", typed)] == []
