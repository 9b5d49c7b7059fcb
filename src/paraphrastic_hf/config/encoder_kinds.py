"""The kinds of encoder that a recipe can name, known without importing torch.

Those of this package are the names of the files in `models/encoders/`. `register_encoder` adds
others. `CODE` stands for any class that Python can import.
"""

from __future__ import annotations

from pathlib import Path

from paraphrastic_hf.config.recipe import CODE

FOLDER = Path(__file__).parents[1] / "models" / "encoders"
NOT_KINDS = ("__init__", "mixed")  # a mixture is named by the key `parts`
ENCODER_KINDS = [
    *sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in NOT_KINDS),
    CODE,
]
