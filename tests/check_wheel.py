"""Build the wheel, unpack it into an empty folder, and use it from there, away from the source
tree."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROGRAM = """
import sys
from pathlib import Path
import paraphrastic_hf
here = Path(sys.argv[1]).resolve()
assert Path(paraphrastic_hf.__file__).is_relative_to(here), paraphrastic_hf.__file__
from paraphrastic_hf.cli.main import main
arguments = ["train", sys.argv[2], "--output", "model", "--quiet", "--sources", sys.argv[3]]
assert main(arguments) == 0
from transformers import AutoModel, AutoTokenizer
model, tokenizer = AutoModel.from_pretrained("model").eval(), AutoTokenizer.from_pretrained("model")
vector = model(**tokenizer("the cat sleeps", return_tensors="pt")).sentence_embedding
assert vector.shape == (1, 64)
print("wheel: imported, trained and loaded from an empty folder")
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder).resolve()
        build = [
            sys.executable,
            "-m",
            "build",
            "--wheel",
            "--outdir",
            str(here / "dist"),
            str(ROOT),
        ]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = (here / "dist").glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                archive.extract(name, here / "site")
        empty = here / "empty"
        empty.mkdir()
        demo = ROOT / "recipes" / "demo"
        command = [sys.executable, "-c", PROGRAM, str(here / "site"), str(demo / "demo.yaml")]
        environment = {**os.environ, "PYTHONPATH": str(here / "site")}
        subprocess.run([*command, str(demo / "pairs.tsv")], check=True, cwd=empty, env=environment)


if __name__ == "__main__":
    main()
