"""Build the wheel and use it outside the source tree, unpacked and in a new environment."""

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
assert main(["train", "demo", "--output", "model", "--quiet"]) == 0  # with text from the wheel
Path("mine.tsv").write_text("the cat sleeps\\ta cat is asleep\\n" * 60)
own = ["train", "own", "--sources", "mine.tsv", "--epochs", "1", "--output", "own", "--quiet"]
assert main(own) == 0
from transformers import AutoModel, AutoTokenizer
for name, dimension in (("model", 64), ("own", 300)):
    model, tokenizer = AutoModel.from_pretrained(name).eval(), AutoTokenizer.from_pretrained(name)
    vector = model(**tokenizer("the cat sleeps", return_tensors="pt")).sentence_embedding
    assert vector.shape == (1, dimension)
print("wheel: imported, trained with its recipes, and loaded from an empty folder")
"""


def build(folder):
    """Build the wheel of this source tree."""
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    return wheel


def check_unpacked(wheel, folder):
    """Train and load with the unpacked wheel and the packages installed here."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            archive.extract(name, folder / "site")
    empty = folder / "empty"
    empty.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(folder / "site")}
    command = [sys.executable, "-c", PROGRAM, str(folder / "site")]
    subprocess.run(command, check=True, cwd=empty, env=environment)


def check_core(wheel, folder):
    """Check the wheel with only its core dependencies."""
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-compile", str(wheel)]
    subprocess.run(install, check=True, env=environment)
    check = [str(python), str(ROOT / "tests" / "check_core.py")]
    subprocess.run(check, check=True, cwd=folder, env=environment)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        wheel = build(folder / "dist")
        check_unpacked(wheel, folder)
        check_core(wheel, folder)


if __name__ == "__main__":
    main()
