"""A run that Ctrl-C or SIGTERM stops writes where it is, and ends as an unbroken one does."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from safetensors.torch import load_file

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.training.engine.interruption import Interruption
from paraphrastic_hf.training.engine.loop import TrainingLoop
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import load_recipe
from tests.training.engine.test_kills import (
    CONTRASTIVE,
    GENERATIVE,
    LANGUAGE_MODEL,
    TRANSLATION,
    log_of,
)


@pytest.fixture
def signals_at(monkeypatch: pytest.MonkeyPatch) -> dict[int, list[int]]:
    """Signals by the number of the step, from 0, in which they are sent; each is sent once."""
    plan: dict[int, list[int]] = {}
    of_loop = TrainingLoop._step

    def step(loop: TrainingLoop, *arguments: object) -> dict[str, float]:
        for number in plan.pop(loop.progress.step, []):
            signal.raise_signal(number)
        return of_loop(loop, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(TrainingLoop, "_step", step)
    return plan


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """What Python and the system do of themselves; a shell has its jobs in the background ignore
    SIGINT."""
    before = [
        (signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler)),
        (signal.SIGTERM, signal.signal(signal.SIGTERM, signal.SIG_DFL)),
    ]
    yield
    for number, handler in before:
        signal.signal(number, handler)


@pytest.mark.parametrize(
    "recipe",
    [CONTRASTIVE, LANGUAGE_MODEL, GENERATIVE, TRANSLATION],
    ids=["contrastive", "language", "generative", "translation"],
)
def test_wherever_it_is_stopped_weights_and_logs_are_those_of_an_unbroken_run(
    recipe: str, tmp_path: Path, signals_at: dict[int, list[int]]
) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(recipe, encoding="utf-8")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    last = train(load_recipe(path), whole, progress=False).step
    for at in [*range(1, last - 3, max(3, last // 4)), last - 1]:
        signals_at[at] = [signal.SIGINT]
        with pytest.raises(KeyboardInterrupt, match="after step"):
            train(load_recipe(path), broken, progress=False)
    assert train(load_recipe(path), broken, progress=False).step == last
    expected, found = (load_file(each / "model.safetensors") for each in (whole, broken))
    assert all(found[name].equal(expected[name]) for name in expected)
    assert log_of(broken) == log_of(whole)
    assert {each.name for each in broken.iterdir()} == {each.name for each in whole.iterdir()}


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text(CONTRASTIVE, encoding="utf-8")
    return path


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_command_says_after_which_step_and_goes_on_from_there(
    number: int,
    status: int,
    recipe: Path,
    tmp_path: Path,
    signals_at: dict[int, list[int]],
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    command = ["train", str(recipe), "--output", str(tmp_path / "out"), "--quiet"]
    signals_at[6] = [number]
    assert main(command) == status
    kept = sorted(os.listdir(tmp_path / "out" / "checkpoints"))
    assert kept == ["step-0000000006", "stopped-0000000008"]  # two mini-batches to a mega-batch
    expected = "paraphrastic train: interrupted after step 8; the same command goes on from there"
    assert capsys.readouterr().err.splitlines()[-1] == expected
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signals_at[10] = [number]
    assert main(command) == status
    assert "going on from step 8" in caplog.text
    kept = sorted(os.listdir(tmp_path / "out" / "checkpoints"))
    assert kept == ["step-0000000006", "step-0000000012"] or kept[-1].startswith("stopped")
    assert main(command) == 0


def test_a_second_one_stops_at_once(
    recipe: Path, tmp_path: Path, signals_at: dict[int, list[int]]
) -> None:
    signals_at[6] = [signal.SIGINT, signal.SIGINT]
    with pytest.raises(KeyboardInterrupt) as caught:
        train(load_recipe(recipe), tmp_path / "out", progress=False)
    assert type(caught.value) is KeyboardInterrupt
    assert os.listdir(tmp_path / "out" / "checkpoints") == ["step-0000000006"]


def test_signals_that_are_handled_elsewhere_or_in_other_threads_are_left_alone() -> None:
    def own(number: int, frame: object) -> None:
        pass

    before = signal.signal(signal.SIGTERM, own)
    try:
        with Interruption():
            assert signal.getsignal(signal.SIGTERM) is own
            assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)
    with Interruption(is_wanted=False):
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    found: list[object] = []

    def in_a_thread() -> None:
        with Interruption():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def test_a_signal_after_the_last_look_at_it_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt), Interruption():
        signal.raise_signal(signal.SIGINT)
