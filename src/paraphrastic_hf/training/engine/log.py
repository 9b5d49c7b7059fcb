"""Training log: `logs/train.jsonl`, one JSON object per line, and TensorBoard files."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paraphrastic_hf.io.files import write_bytes


class TrainingLog:
    """Training log. Each line contains the mean losses since the previous line.

    Lines after `step`, from a killed run, are removed. `state` are the unwritten losses of the
    checkpoint.
    """

    def __init__(
        self, directory: Path, step: int, state: Mapping[str, Any] | None = None, *, is_main: bool
    ) -> None:
        self._count: int = state["count"] if state else 0
        self._sums: dict[str, float] = dict(state["sums"]) if state else {}
        self.mean_loss = math.nan
        self._is_main = is_main
        if not is_main:
            return
        from torch.utils.tensorboard import SummaryWriter

        directory.mkdir(parents=True, exist_ok=True)
        path = directory / "train.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        kept = [line for line in lines if _step_of(line) <= step]
        write_bytes(path, "".join(line + "\n" for line in kept).encode("utf-8"))
        self._file = path.open("a", encoding="utf-8")
        self._board = SummaryWriter(str(directory), purge_step=step + 1)

    @property
    def state(self) -> dict[str, Any]:
        """Losses not yet written to the log, to be saved in a checkpoint."""
        return {"count": self._count, "sums": self._sums}

    @property
    def has_unwritten_losses(self) -> bool:
        return self._count > 0

    def add(self, losses: Mapping[str, float]) -> None:
        self._count += 1
        for name, value in losses.items():
            self._sums[name] = self._sums.get(name, 0.0) + value

    def write_losses(self, step: int, **values: Any) -> None:
        """Write `values` and the mean losses since the last call."""
        means = {name: total / self._count for name, total in self._sums.items()}
        self.mean_loss = means.get("loss", math.nan)
        self._count, self._sums = 0, {}
        self.write(step, **values, **means)

    def write(self, step: int, **values: Any) -> None:
        if not self._is_main:
            return
        self._file.write(json.dumps({"step": step, **values}) + "\n")
        self._file.flush()
        for name, value in values.items():
            self._board.add_scalar(name, value, step)

    def close(self) -> None:
        if self._is_main:
            self._file.close()
            self._board.close()


def _step_of(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):  # the process was killed while writing the line
        return math.inf
