"""Encoder kinds that a recipe can name, listed without importing torch.

Built-in kinds are the file names in `models/encoders/`. `register_encoder` adds more.
"""

from __future__ import annotations

from pathlib import Path

from paraphrastic_hf.config.recipe import CODE

FOLDER = Path(__file__).parents[1] / "models" / "encoders"
NOT_KINDS = ("__init__", "mixed")  # recipes define a mixture with the key `parts`
ENCODER_KINDS = [
    *sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in NOT_KINDS),
    CODE,
]
