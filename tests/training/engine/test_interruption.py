"""An interrupted run resumes and ends like an uninterrupted one."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.training.engine.interruption import Interruption
from paraphrastic_hf.training.engine.loop import TrainingLoop
from paraphrastic_hf.training.kinds import load_recipe
from tests.data_root import write_supervised
from tests.trained import FAMILIES
from tests.training.engine import test_kills
from tests.training.runs import (
    BITEXT,
    DISTILLATION,
    assert_equal_weights,
    breaking_at,
    log,
    recipe_of,
    train,
)

UNEVEN = FAMILIES["mgt"].replace(
    "[en, fr]}", f"[en, fr]}}, {{path: {BITEXT}, languages: [en, de], max_pairs: 9}}"
)
OFTEN = ["--checkpoint_every", "2", "--log_every", "1"]
RUNS = {  # recipe and options
    **test_kills.RUNS,
    "dropout": (FAMILIES["word"], "--embedding_dropout 0.3 --negatives mix"),
    "mixture": (FAMILIES["mixture"], "--scramble 0.3 --lambda_w 1e-3"),
    # lambda_c needs the initial values, which a resumed run does not have
    "identity_rnn": (
        FAMILIES["recurrent"],
        "--cell identity_rnn --bidirectional false --pooling last --lambda_c 1",
    ),
    "charagram": (FAMILIES["charagram"], "--lambda_all 1e-6"),
    "relatedness": (FAMILIES["relatedness"], "--head.dropout 0.2 --batch_size 4"),
    "tagging": (
        FAMILIES["tagging"],
        "--optimizer sgd --momentum 0.9 --learning_rate 0.1 --head.dropout 0.2 --batch_size 4",
    ),
    "parsing": (FAMILIES["parsing"], "--batch_size 1"),
    "mgt": (UNEVEN, "--language_exponent 0.3 --contrastive 5"),
    "center": (FAMILIES["bgt"], "--center 8 --batch_tokens 60"),
    "annealed": (FAMILIES["marian"], "--anneal 0.1 --development held_out --batch_tokens 60"),
    "paraphrase": (FAMILIES["scpn"], ""),
    "distillation": (DISTILLATION, ""),
}
QUICK = ("contrastive", "mixture", "tagging", "mgt", "annealed")


@pytest.fixture
def signals_at(monkeypatch):
    """Signals to send, by step from 0."""
    plan: dict[int, list[int]] = {}
    of_loop = TrainingLoop._step

    def step(loop: TrainingLoop, *arguments: object) -> dict[str, float]:
        for number in plan.pop(loop.progress.step, []):
            signal.raise_signal(number)
        return of_loop(loop, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(TrainingLoop, "_step", step)
    return plan


@pytest.fixture(autouse=True)
def handlers():
    """The default handlers; shells make background jobs ignore SIGINT."""
    before = [
        (signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler)),
        (signal.SIGTERM, signal.signal(signal.SIGTERM, signal.SIG_DFL)),
    ]
    yield
    for number, handler in before:
        signal.signal(number, handler)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an open log
@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in RUNS if n not in QUICK)]
)
def test_weights_logs_and_files_equal_those_of_an_uninterrupted_run(name, tmp_path, signals_at):
    """The run crashes after a third and gets Ctrl-C after two thirds."""
    text, settings = RUNS[name]
    options = [*OFTEN, "--epochs", "3", *settings.split()]
    recipe, root = recipe_of(tmp_path, text, *options), write_supervised(tmp_path / "data")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    last = train(recipe, whole, data_root=root).step
    assert last >= 6
    with breaking_at(last // 3):
        train(recipe, broken, data_root=root)
    signals_at[2 * last // 3] = [signal.SIGINT]
    with pytest.raises(KeyboardInterrupt):
        train(recipe, broken, data_root=root)
    assert train(recipe, broken, data_root=root).step == last
    assert_equal_weights(broken, whole)
    assert log(broken) == log(whole)
    assert {each.name for each in broken.iterdir()} == {each.name for each in whole.iterdir()}


@pytest.fixture
def recipe(tmp_path):
    return test_kills.write_run("contrastive", tmp_path)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_command_writes_a_checkpoint_and_resumes(
    number, status, recipe, tmp_path, signals_at, capsys
):
    command = ["train", str(recipe), "--output", str(tmp_path / "out"), "--quiet"]
    checkpoints = tmp_path / "out" / "checkpoints"
    signals_at[6] = [number]
    assert main(command) == status
    # a mega-batch has two mini-batches
    assert sorted(os.listdir(checkpoints)) == ["step-0000000006", "stopped-0000000008"]
    assert "step 8" in capsys.readouterr().err.splitlines()[-1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signals_at[10] = [number]
    assert main(command) == status
    kept = sorted(os.listdir(checkpoints))
    assert kept == ["step-0000000006", "step-0000000012"] or kept[-1].startswith("stopped")
    assert main(command) == 0


def test_a_second_signal_stops_at_once(recipe, tmp_path, signals_at):
    signals_at[6] = [signal.SIGINT, signal.SIGINT]
    with pytest.raises(KeyboardInterrupt) as caught:
        train(load_recipe(recipe), tmp_path / "out")
    assert type(caught.value) is KeyboardInterrupt
    assert os.listdir(tmp_path / "out" / "checkpoints") == ["step-0000000006"]


def test_signals_with_other_handlers_or_in_other_threads_are_not_deferred():
    def own(number: int, frame: object) -> None:
        pass

    signal.signal(signal.SIGTERM, own)
    with Interruption():
        assert signal.getsignal(signal.SIGTERM) is own
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    with Interruption(is_wanted=False):
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def in_a_thread() -> object:
        with Interruption():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor() as pool:
        assert pool.submit(in_a_thread).result() is signal.default_int_handler


def test_a_signal_after_the_last_check_is_not_lost():
    with pytest.raises(KeyboardInterrupt), Interruption():
        signal.raise_signal(signal.SIGINT)
