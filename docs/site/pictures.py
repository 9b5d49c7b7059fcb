"""Draws the pictures of the README and the guides: `python docs/site/pictures.py`."""

from __future__ import annotations

import re
from pathlib import Path

from paraphrastic_hf import SentenceEncoder, token_contributions
from paraphrastic_hf.io.plots import COLORS, heat_map, new_figure, png, style

DOCS = Path(__file__).parents[1]
GUIDES = DOCS / "guides"
CARDS = DOCS.parent / "hub_cards" / "models"
SHOWN = ("sentences per second", "STS 2012-2016", "MB of weights")
FIRST, SECOND = "The doctor examined the child.", "The physician looked at the boy."
TRANSLATIONS = {
    "English": ("A cat is asleep.", "Where is the station?", "Bread is expensive."),
    "French": ("Un chat dort.", "Où est la gare ?", "Le pain est cher."),
    "German": ("Eine Katze schläft.", "Wo ist der Bahnhof?", "Das Brot ist teuer."),
    "Turkish": ("Bir kedi uyuyor.", "İstasyon nerede?", "Ekmek pahalı."),
    "Russian": ("Кошка спит.", "Где вокзал?", "Хлеб дорогой."),
    "Japanese": ("猫が寝ている。", "駅はどこですか。", "パンは高い。"),
}


def quality() -> bytes:
    """Draw quality against speed of the packaged models and MiniLM, by the tables of the cards."""
    found = {}
    for path in sorted(CARDS.glob("*.md")):
        card = path.read_text(encoding="utf-8")
        rows = [re.search(rf"^\| {name} \| (.+) \| (.+) \|$", card, re.MULTILINE) for name in SHOWN]
        for side, name in ((1, path.stem), (2, "all-MiniLM-L6-v2")):
            found[name] = [float(row[side].strip("*").replace(",", "")) for row in rows if row]
    figure = new_figure(7, 3.8)
    axes = figure.subplots()
    for (name, (speed, score, size)), color in zip(found.items(), COLORS, strict=False):
        axes.scatter(speed, score, s=12 * size, color=color, alpha=0.7)
        below = (0, -14 - (12 * size) ** 0.5 / 2)
        label = f"{name}, {size:g} MB"
        axes.annotate(label, (speed, score), below, textcoords="offset points", ha="center")
    axes.set_xscale("log")
    axes.set_xlim(30, 6e6)
    axes.set_ylim(68, 77.5)
    style(axes, "", "new sentences per second, two CPU cores", "STS 2012-2016, Pearson's r x 100")
    return png(figure, "Quality and speed; areas show the size of the weights", dpi=110)


def pieces() -> bytes:
    """Draw the share of each pair of pieces in a cosine."""
    found = token_contributions(SentenceEncoder.from_pretrained("english"), FIRST, SECOND)
    figure = new_figure(7, 3.6)
    texts = [[f"{share:.2f}" if abs(share) > 0.005 else "" for share in row] for row in found.pairs]
    heat_map(figure.subplots(), found.pairs, found.first, found.second, "share", texts)
    return png(figure, f"Cosine {found.cosine:.2f} is the sum of all pairs of pieces", dpi=120)


def languages() -> bytes:
    """Draw the cosines of three sentences in several languages."""
    sentences = [texts[number] for number in range(3) for texts in TRANSLATIONS.values()]
    names = [
        f"{language}: {english}" if language == "English" else language
        for english in TRANSLATIONS["English"]
        for language in TRANSLATIONS
    ]
    cosines = SentenceEncoder.from_pretrained("multilingual").similarity(sentences, sentences)
    texts = [[f"{cosine:.2f}" for cosine in row] for row in cosines]
    figure = new_figure(9, 6.5)
    axes = figure.subplots()
    heat_map(axes, cosines, names, 3 * list(TRANSLATIONS), "cosine", texts)
    for place in (5.5, 11.5):
        axes.axhline(place, color="white", linewidth=3)
        axes.axvline(place, color="white", linewidth=3)
    return png(figure, "Three sentences in six languages: cosines", dpi=110)


if __name__ == "__main__":
    (DOCS / "quality.png").write_bytes(quality())
    (GUIDES / "pieces.png").write_bytes(pieces())
    (GUIDES / "languages.png").write_bytes(languages())
