"""Translation engines return a list for every line."""

from __future__ import annotations

import json
import math
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import MarianMTModel

from paraphrastic_hf.encoders.storage.ctranslate import converted
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.generation.writing import GenerationOptions
from paraphrastic_hf.models.seq2seq.stock import generation_settings, marian_config
from paraphrastic_hf.pipelines.engines.base import Engine, EngineError
from paraphrastic_hf.pipelines.engines.commands import MAX_ODD_LINES, Apertium, CommandEngine
from paraphrastic_hf.pipelines.engines.registry import make_engine
from paraphrastic_hf.pipelines.recipe import EngineArguments
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer
from tests.texts import SENTENCES

LINES = [SENTENCES[0], "", SENTENCES[1], "  ", *SENTENCES[2:6]]
LONG = "a cat sleeps " * 2500
ctranslate2 = pytest.mark.skipif(
    not shutil.which("ct2-transformers-converter"), reason="CTranslate2 is not installed"
)
apertium = pytest.mark.skipif(not shutil.which("apertium"), reason="Apertium is not installed")
spanish = pytest.mark.skipif(
    not any(Path("/usr/share/apertium/modes").glob("spa-eng.mode")),
    reason="Apertium's Spanish to English (apertium-eng-spa) is not installed",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Marian model of this package with random weights."""
    folder = tmp_path_factory.mktemp("marian")
    subword = SubwordTokenizer.train(
        SENTENCES, vocab_size=300, lowercase=False, character_coverage=1.0
    )
    tokenizer = MarkedTokenizer(subword, "end")
    tokenizer.save(folder)
    torch.manual_seed(0)
    config = marian_config(
        tokenizer.vocab_size,
        tokenizer.special.end[0],
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        init_std=0.5,
        max_position_embeddings=64,
    )
    model = MarianMTModel(config)
    model.generation_config = generation_settings(config)
    model.save_pretrained(folder)
    return folder


def program(text: str) -> list[str]:
    """Return a Python program with its input lines in `lines`."""
    read = "import sys, time, os\nlines = sys.stdin.read().split('\\n')[:-1]\n"
    return [sys.executable, "-c", read + text]


UPPER = "print('\\n'.join(line.upper() for line in lines))"


def texts(engine: Engine, lines: list[str]) -> list[str]:
    return [written[0].text for written in engine.translate(lines)]


# -- programs --------------------------------------------------------------------------------------


def test_lines_of_a_program_keep_their_order() -> None:
    engine = CommandEngine(program(UPPER))
    assert texts(engine, ["a cat", "", "  ", "two\u2028lines\r\0", "é"]) == [
        *("A CAT", "", "", "TWO LINES", "É")
    ]
    assert engine.translate([]) == []
    assert math.isnan(engine.translate(["a"])[0][0].nats)


def test_only_an_odd_line_gets_an_empty_translation() -> None:
    engine = CommandEngine(program("lines = [x for x in lines if 'odd' not in x]\n" + UPPER))
    assert texts(engine, ["a", "b", "odd", "c", "d"]) == ["A", "B", "", "C", "D"]


def test_a_program_with_a_wrong_number_of_lines_is_an_error() -> None:
    twice = CommandEngine(program("lines = [x for x in lines for _ in (1, 2)]\n" + UPPER))
    with pytest.raises(EngineError, match="'line 10'"):
        twice.translate([f"line {number}" for number in range(MAX_ODD_LINES + 1)])
    with pytest.raises(EngineError):
        CommandEngine(["cat", "/dev/null"]).translate(["a", "b"])


def test_a_failed_program_is_an_error_with_its_output() -> None:
    engine = CommandEngine(program("sys.exit('no memory')"))
    with pytest.raises(EngineError):
        engine.translate(["a"])
    engine = CommandEngine(program("os.kill(os.getpid(), 9)"))
    with pytest.raises(EngineError):
        engine.translate(["a"])


@pytest.mark.slow
def test_a_hanging_program_is_killed_with_its_children(tmp_path: Path) -> None:
    child = tmp_path / "child"
    hang = (
        f"import subprocess; p = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(child)!r}, 'w').write(str(p.pid)); time.sleep(600)"
    )
    engine = CommandEngine(program(hang), timeout=5)
    with pytest.raises(EngineError):
        engine.translate(["a"])
    pid = int(child.read_text())
    until = time.monotonic() + 5
    while time.monotonic() < until and _is_running(pid):
        time.sleep(0.05)
    assert not _is_running(pid)


def _is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_a_missing_program_is_refused() -> None:
    with pytest.raises(EngineError):
        CommandEngine(["no-such-program"])


@spanish
def test_apertium_keeps_sentences_apart_and_their_full_stops() -> None:
    engine = Apertium("spa-eng")
    assert texts(engine, ["El perro duerme.", "", "la casa blanca", "Hola. Adiós."])[:3] == [
        *("The dog sleeps.", "", "The white house")
    ]
    (long,) = texts(engine, ["El perro duerme. " * 1700])
    assert long.count("dog") == 1700


@apertium
def test_unknown_modes_of_apertium_are_refused() -> None:
    with pytest.raises(EngineError):
        Apertium("xxx-yyy")


# -- models ----------------------------------------------------------------------------------------


def test_the_transformers_engine_equals_the_translator(folder: Path) -> None:
    arguments = EngineArguments(kind="transformers", model=str(folder), beams=3, outputs=2)
    found = make_engine(arguments).translate(LINES)
    wanted = Translator.from_pretrained(folder).translate(LINES, beams=3, outputs=2)
    assert [[w.text for w in each] for each in found] == [[w.text for w in e] for e in wanted]
    assert [each[0].text for each in found][1::2][:2] == ["", ""]


def ct2(folder: Path, work: Path, **settings: Any) -> Engine:
    return make_engine(EngineArguments(model=str(folder), **settings), work=work)


@pytest.mark.slow
@ctranslate2
@pytest.mark.parametrize("beams", [1, 4])
def test_ctranslate2_equals_transformers(folder: Path, tmp_path: Path, beams: int) -> None:
    how: dict[str, Any] = {"beams": beams, "outputs": min(beams, 2), "max_tokens": 12}
    found = ct2(folder, tmp_path, precision="float32", **how).translate(LINES)
    translator = Translator.from_pretrained(folder)
    # transformers gives padding some probability, CTranslate2 does not
    translator.model.final_logits_bias[0, -1] = -1e9
    assert [len(each) for each in found] == [how["outputs"]] * len(LINES)
    same = 0
    for line, written in zip(LINES, found, strict=True):
        if not line.strip():
            assert [each.text for each in written] == [""] * how["outputs"]
            continue
        ids = translator.encode([line])
        lists = [
            translator.write(ids, GenerationOptions(n, outputs=n, max_tokens=12))[0]
            for n in (beams, 16)
        ]
        nats = [each.nats for each in [*lists[0], *lists[1]] if each.text == written[0].text]
        same += any(each == pytest.approx(written[0].nats, abs=1e-4) for each in nats)
        assert [each.nats for each in written] == sorted((e.nats for e in written), reverse=True)
    # their rules for ending a beam search differ
    assert same >= (6 if beams == 1 else 3)


@pytest.mark.slow
@ctranslate2
@pytest.mark.parametrize("penalty", [0.0, 0.5, 2.0])
def test_scores_of_ctranslate2_do_not_depend_on_the_length_penalty(
    folder: Path, tmp_path: Path, penalty: float
) -> None:
    """With one beam the penalty changes no text."""
    how: dict[str, Any] = {"beams": 1, "max_tokens": 12, "precision": "float32"}
    means = ct2(folder, tmp_path, **how).translate(SENTENCES)
    found = ct2(folder, tmp_path, length_penalty=penalty, **how).translate(SENTENCES)
    for (mean,), (each,) in zip(means, found, strict=True):
        assert (each.text, each.nats) == (mean.text, pytest.approx(mean.nats, abs=1e-4))


@ctranslate2
def test_samples_of_ctranslate2_depend_on_the_seed(folder: Path, tmp_path: Path) -> None:
    arguments = EngineArguments(model=str(folder), sample=True, outputs=4, max_tokens=8)
    first, again, other = (
        make_engine(arguments, seed=seed, work=tmp_path).translate(SENTENCES[:2])
        for seed in (1, 1, 2)
    )
    assert first == again != other
    assert len({each.text for each in first[0]}) > 1
    assert all(each.nats < 0 for each in first[0])


@ctranslate2
def test_a_model_is_converted_once_and_long_lines_are_cut(folder: Path, tmp_path: Path) -> None:
    ct2(folder, tmp_path)
    (made,) = tmp_path.iterdir()
    stamp = (made / "model.bin").stat().st_mtime_ns
    (found,) = ct2(folder, tmp_path, max_tokens=500, beams=2).translate([LONG])
    assert (made / "model.bin").stat().st_mtime_ns == stamp
    assert found[0].text


@pytest.mark.slow
@ctranslate2
def test_a_replaced_model_is_converted_again(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(folder, model)
    first = converted(model, work=None, advice="")
    assert converted(model, work=None, advice="") == first
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    config["scale_embedding"] = not config.get("scale_embedding")
    (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert converted(model, work=None, advice="") != first


@ctranslate2
def test_unsupported_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        ct2(Path("english"), tmp_path)


@ctranslate2
def test_a_hanging_call_of_ctranslate2_times_out(folder: Path, tmp_path: Path) -> None:
    from paraphrastic_hf.pipelines.engines.ctranslate import CTranslate2Engine

    engine = ct2(folder, tmp_path)
    assert isinstance(engine, CTranslate2Engine)
    never = SimpleNamespace(done=lambda: False)
    engine.model = SimpleNamespace(translate_batch=lambda tokens, **_: [never] * len(tokens))
    engine.timeout = 0.1
    with pytest.raises(EngineError):
        engine.translate(["a cat"])


def test_a_missing_model_is_refused() -> None:
    with pytest.raises(ModelError):
        make_engine(EngineArguments(kind="transformers", model="runs/none"))
