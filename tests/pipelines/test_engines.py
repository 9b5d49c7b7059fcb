import json
import math
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from paraphrastic_hf.encoders.storage.ctranslate import converted
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.generation.writing import GenerationOptions
from paraphrastic_hf.pipelines.engines.base import EngineError
from paraphrastic_hf.pipelines.engines.commands import MAX_ODD_LINES, Apertium, CommandEngine
from paraphrastic_hf.pipelines.engines.registry import make_engine
from paraphrastic_hf.pipelines.recipe import EngineArguments
from tests.generation.seq2seq import save_marian
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
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marian")
    save_marian(folder, is_trained_here=True)
    return folder


def program(text):
    """Return a Python program with its input lines in `lines`."""
    read = "import sys, time, os\nlines = sys.stdin.read().split('\\n')[:-1]\n"
    return [sys.executable, "-c", read + text]


UPPER = "print('\\n'.join(line.upper() for line in lines))"


def texts(engine, lines):
    return [written[0].text for written in engine.translate(lines)]


def test_lines_of_a_program_keep_their_order():
    engine = CommandEngine(program(UPPER))
    assert texts(engine, ["a cat", "", "  ", "two\u2028lines\r\0", "é"]) == [
        *("A CAT", "", "", "TWO LINES", "É")
    ]
    assert engine.translate([]) == []
    assert math.isnan(engine.translate(["a"])[0][0].nats)


def test_only_an_odd_line_gets_an_empty_translation():
    engine = CommandEngine(program("lines = [x for x in lines if 'odd' not in x]\n" + UPPER))
    assert texts(engine, ["a", "b", "odd", "c", "d"]) == ["A", "B", "", "C", "D"]


def test_a_program_with_a_wrong_number_of_lines_is_an_error():
    twice = CommandEngine(program("lines = [x for x in lines for _ in (1, 2)]\n" + UPPER))
    with pytest.raises(EngineError, match="'line 10'"):
        twice.translate([f"line {number}" for number in range(MAX_ODD_LINES + 1)])
    with pytest.raises(EngineError):
        CommandEngine(["cat", "/dev/null"]).translate(["a", "b"])


def test_a_failed_or_missing_program_is_an_error():
    for failure in ("sys.exit('no memory')", "os.kill(os.getpid(), 9)"):
        with pytest.raises(EngineError):
            CommandEngine(program(failure)).translate(["a"])
    with pytest.raises(EngineError):
        CommandEngine(["no-such-program"])


@pytest.mark.slow
def test_a_hanging_program_is_killed_with_its_children(tmp_path):
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


def _is_running(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@spanish
def test_apertium_keeps_sentences_apart_and_their_full_stops():
    engine = Apertium("spa-eng")
    assert texts(engine, ["El perro duerme.", "", "la casa blanca", "Hola. Adiós."])[:3] == [
        *("The dog sleeps.", "", "The white house")
    ]
    (long,) = texts(engine, ["El perro duerme. " * 1700])
    assert long.count("dog") == 1700


@apertium
def test_unknown_modes_of_apertium_are_refused():
    with pytest.raises(EngineError):
        Apertium("xxx-yyy")


def test_the_transformers_engine_equals_the_translator(folder):
    arguments = EngineArguments(kind="transformers", model=str(folder), beams=3, outputs=2)
    found = make_engine(arguments).translate(LINES)
    wanted = Translator.from_pretrained(folder).translate(LINES, beams=3, outputs=2)
    assert [[w.text for w in each] for each in found] == [[w.text for w in e] for e in wanted]
    assert [each[0].text for each in found][1::2][:2] == ["", ""]
    with pytest.raises(ModelError):
        make_engine(EngineArguments(kind="transformers", model="runs/none"))


def ct2(folder, work, **settings):
    return make_engine(EngineArguments(model=str(folder), **settings), work=work)


@pytest.mark.slow
@ctranslate2
@pytest.mark.parametrize("beams", [1, 4])
def test_ctranslate2_equals_transformers(folder, tmp_path, beams):
    how = {"beams": beams, "outputs": min(beams, 2), "max_tokens": 12}
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
def test_scores_of_ctranslate2_do_not_depend_on_the_length_penalty(folder, tmp_path, penalty):
    """With one beam the penalty changes no text."""
    how = {"beams": 1, "max_tokens": 12, "precision": "float32"}
    means = ct2(folder, tmp_path, **how).translate(SENTENCES)
    found = ct2(folder, tmp_path, length_penalty=penalty, **how).translate(SENTENCES)
    for (mean,), (each,) in zip(means, found, strict=True):
        assert (each.text, each.nats) == (mean.text, pytest.approx(mean.nats, abs=1e-4))


@ctranslate2
def test_samples_of_ctranslate2_depend_on_the_seed(folder, tmp_path):
    arguments = EngineArguments(model=str(folder), sample=True, outputs=4, max_tokens=8)
    first, again, other = (
        make_engine(arguments, seed=seed, work=tmp_path).translate(SENTENCES[:2])
        for seed in (1, 1, 2)
    )
    assert first == again != other
    assert len({each.text for each in first[0]}) > 1
    assert all(each.nats < 0 for each in first[0])


@ctranslate2
def test_a_model_is_converted_once_and_long_lines_are_cut(folder, tmp_path):
    ct2(folder, tmp_path)
    (made,) = tmp_path.iterdir()
    stamp = (made / "model.bin").stat().st_mtime_ns
    (found,) = ct2(folder, tmp_path, max_tokens=500, beams=2).translate([LONG])
    assert (made / "model.bin").stat().st_mtime_ns == stamp
    assert found[0].text


@pytest.mark.slow
@ctranslate2
def test_a_replaced_model_is_converted_again(folder, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(folder, model)
    first = converted(model, work=None, advice="")
    assert converted(model, work=None, advice="") == first
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    config["scale_embedding"] = not config.get("scale_embedding")
    (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert converted(model, work=None, advice="") != first


@ctranslate2
def test_unsupported_models_are_refused(tmp_path):
    with pytest.raises(ModelError):
        ct2(Path("english"), tmp_path)


@ctranslate2
def test_a_hanging_call_of_ctranslate2_times_out(folder, tmp_path):

    engine = ct2(folder, tmp_path)
    never = SimpleNamespace(done=lambda: False)
    engine.model = SimpleNamespace(translate_batch=lambda tokens, **_: [never] * len(tokens))
    engine.timeout = 0.1
    with pytest.raises(EngineError):
        engine.translate(["a cat"])
