"""Assemble the page in one file, with its models beside it (`make web`).

Usage: python web/assemble.py FOLDER

FOLDER/index.html contains the page, the engine and the model `tiny`, so it also runs from disk.
FOLDER/models/ has the packaged models. Upload the folder to any static host, or with `README.md`
as a static Space.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ASSETS = HERE.parent / "src" / "paraphrastic_hf" / "assets"
CARD = HERE.parent / "hub_cards" / "spaces" / "browser" / "README.md"
MODEL_FILES = ("config.json", "paraphrastic_tokenizer.json", "model.safetensors", "spiece.model")
EMBEDDED = "tiny"
SCRIPTS = {"paraphrastic": "paraphrastic.js", "tables": "tables.js", "samples": "samples.js"}


def page() -> str:
    """Return the page with everything that it loads, except for the larger models."""
    scripts = {
        name: f"data:text/javascript;base64,{encoded(HERE / file)}"
        for name, file in SCRIPTS.items()
    }
    program = (HERE / "page.js").read_text(encoding="utf-8")
    engine = {"paraphrastic.wasm": HERE / "paraphrastic.wasm"}
    model = {f"{EMBEDDED}/{name}": ASSETS / EMBEDDED / name for name in MODEL_FILES}
    data = "\n".join(
        f'<script type="text/plain" id="{name}">{encoded(path)}</script>'
        for name, path in {**engine, **model}.items()
    )
    replaced = {
        r'data-models="[^"]*"': 'data-models="models/"',
        r'<link rel="stylesheet".*?>': f"<style>\n{(HERE / 'page.css').read_text()}</style>",
        r'(?<=<script type="importmap">).*?(?=</script>)': json.dumps({"imports": scripts}),
        r'<script type="module".*?</script>': (
            f'{data}\n<script type="module">\n{program}</script>'
        ),
    }
    html = (HERE / "index.html").read_text(encoding="utf-8")
    for pattern, new in replaced.items():
        html, count = re.subn(pattern, lambda _, new=new: new, html)
        assert count == 1, pattern
    return html


def encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def assemble(folder: Path) -> None:
    """Write the page, the models and the card of the Space to a folder."""
    for model in ("tiny", "english", "multilingual"):
        (folder / "models" / model).mkdir(parents=True, exist_ok=True)
        for name in MODEL_FILES:
            shutil.copyfile(ASSETS / model / name, folder / "models" / model / name)
    shutil.copyfile(CARD, folder / "README.md")
    (folder / "index.html").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    assemble(Path(sys.argv[1]))
