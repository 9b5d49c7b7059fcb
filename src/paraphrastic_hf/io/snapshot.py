"""Repositories of the Hub as folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paraphrastic_hf.io.download import with_retries

# What a run leaves beside a model, and weights that only other frameworks read.
IGNORED = [
    *("checkpoints/*", "logs/*", "work/*"),
    *("*.h5", "*.msgpack", "*.ot", "*.tflite", "*.onnx", "onnx/*", "openvino/*"),
]


def snapshot(name: str, kind: str = "model", **options: Any) -> Path:
    """Return the folder of a repository at one commit, downloaded if need be.

    Args:
        name: Such as `someone/model`.
        kind: `model`, `dataset` or `space`.
        **options: `revision`, `token`, `cache_dir` and `local_files_only`, as `snapshot_download`
            of huggingface_hub takes them.

    Raises:
        HfHubHTTPError, ValueError, OSError: The repository does not exist, has a file whose name
            leads out of the folder, or the Hub cannot be reached.
    """
    from huggingface_hub import snapshot_download

    return Path(
        with_retries(
            lambda: snapshot_download(name, repo_type=kind, ignore_patterns=IGNORED, **options)
        )
    )
