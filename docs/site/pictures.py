"""Draws the pictures of the README and the guides: `python docs/site/pictures.py`."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from matplotlib import rc_context
from matplotlib.figure import Figure

from paraphrastic_hf import SentenceEncoder, token_contributions
from paraphrastic_hf.evaluation.page import read_figures
from paraphrastic_hf.io.plots import COLORS, bars, heat_map, new_figure, png, style

DOCS = Path(__file__).parents[1]
GUIDES = DOCS / "guides"
CARDS = DOCS.parent / "hub_cards" / "models"
SHOWN = ("sentences per second", "STS 2012-2016", "MB of weights")
FIRST, SECOND = "The doctor examined the child.", "The physician looked at the boy."
SENTENCES = ("A cat sleeps.", "The kitten is asleep.")
DRAWN = 10  # dimensions of a vector that are drawn
COMMANDS = (
    "head -3 recipes/demo/questions.tsv | paraphrastic score english -",
    "cut -f1 recipes/demo/pairs.tsv | paraphrastic neighbors english - \\\n"
    "    --query 'where is the station' --neighbors 3",
)
Box = tuple[float, float, str, str]  # center in inches, text, color
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
        distance = 14 + (12 * size) ** 0.5 / 2
        offset = (0, distance - 8 if name == "english-window" else -distance)
        label = f"{name}, {size:g} MB"
        axes.annotate(label, (speed, score), offset, textcoords="offset points", ha="center")
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


def diagram(title: str, boxes: Mapping[str, Box], arrows: Sequence[tuple[str, str]]) -> Figure:
    """Draw boxes, given as centers in inches, text and color, and arrows between them."""
    figure = Figure(figsize=(7, max(y for _, y, _, _ in boxes.values()) + 0.9))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 7), ylim=(0, figure.get_figheight()))
    axes.set_axis_off()
    axes.text(0.1, figure.get_figheight() - 0.25, title, fontsize=11, fontweight="bold")
    drawn = {}
    for name, (x, y, text, color) in boxes.items():
        frame = {"boxstyle": "round,pad=0.5", "facecolor": f"{color}1f", "edgecolor": color}
        drawn[name] = axes.text(x, y, text, ha="center", va="center", fontsize=9, bbox=frame)
    figure.draw_without_rendering()  # places the frames
    for start, end in arrows:
        line = {"arrowstyle": "-|>", "color": COLORS[6], "shrinkA": 1, "shrinkB": 1}
        ends = {
            f"patch{side}": drawn[at].get_bbox_patch() for side, at in (("A", start), ("B", end))
        }
        axes.annotate("", boxes[end][:2], boxes[start][:2], arrowprops={**line, **ends})
    return figure


def average() -> Figure:
    """Draw the path from two sentences to their cosine, with their vectors."""
    encoder = SentenceEncoder.from_pretrained("english")
    cosine = encoder.similarity(SENTENCES[:1], SENTENCES[1:])[0, 0]
    boxes: dict[str, Box] = {"cosine": (6.6, 1.3, f"cosine\n{cosine:.2f}", COLORS[1])}
    arrows, strips = [], []
    for y, text in ((1.95, SENTENCES[0]), (0.65, SENTENCES[1])):
        (ids,) = encoder.tokenizer.encode_batch([text])
        pieces = [encoder.tokenizer.tokens()[number].strip("▁") for number in ids]
        vectors = encoder.table(ids)[:, :DRAWN]
        path = [text, *(f"{part} of {text}" for part in ("pieces", "vectors", "mean"))]
        texts = [text, "\n".join(pieces), "\n".join(" " * 24 for _ in pieces), " " * 24]
        for name, x, shown in zip(path, (0.85, 2.3, 3.65, 5.2), texts, strict=True):
            boxes[name] = (x, y, shown, COLORS[0])
        arrows += itertools.pairwise([*path, "cosine"])
        strips += [(3.65, y, vectors), (5.2, y, vectors.mean(0, keepdims=True))]
    figure = diagram("A sentence vector is the mean of the vectors of its pieces", boxes, arrows)
    (axes,) = figure.axes
    for x, y, values in strips:
        across, down = 0.05 * DRAWN, 0.07 * len(values)
        extent = (x - across, x + across, y - down, y + down)
        axes.imshow(
            values, cmap="RdBu", vmin=-0.6, vmax=0.6, extent=extent, aspect="auto", zorder=5
        )
    for x, heading in ((0.85, "sentence"), (2.3, "pieces"), (3.65, "vectors"), (5.2, "mean")):
        axes.text(x, 2.44, heading, ha="center", va="center", fontsize=9, color=COLORS[6])
    axes.set(xlim=(0, 7), ylim=(0, figure.get_figheight()))
    return figure


def generative() -> Figure:
    """Draw the bilingual generative transformer in training."""
    blue, orange, green = COLORS[:3]
    boxes = {
        "en": (0.7, 2.2, "English\nsentence", blue),
        "fr": (0.7, 0.6, "French\ntranslation", green),
        "read en": (2.4, 2.2, "English encoder", blue),
        "read": (2.4, 1.4, "semantic encoder", orange),
        "read fr": (2.4, 0.6, "French encoder", green),
        "z en": (4.2, 2.2, "English variable:\nstyle", blue),
        "z": (4.2, 1.4, "semantic variable:\nthe embedding", orange),
        "z fr": (4.2, 0.6, "French variable:\nstyle", green),
        "write en": (6.2, 2.2, "English decoder", blue),
        "write fr": (6.2, 0.6, "French decoder", green),
    }
    arrows = [
        *(("en", "read en"), ("en", "read"), ("fr", "read"), ("fr", "read fr")),
        *(("read en", "z en"), ("read", "z"), ("read fr", "z fr"), ("z en", "write en")),
        *(("z", "write en"), ("z", "write fr"), ("z fr", "write fr")),
    ]
    return diagram("BGT: translations share one variable, each language has its own", boxes, arrows)


def syntactic() -> Figure:
    """Draw a paraphrase by SCPN with a template."""
    blue, orange, green = COLORS[:3]
    boxes = {
        "template": (0.95, 2.2, "template\n(S (PP) (,) (NP) (VP) (.))", green),
        "text": (0.95, 0.6, "sentence\nshe drove home .", blue),
        "tree": (2.35, 1.4, "parser", blue),
        "generator": (3.45, 2.2, "parse generator", green),
        "parse": (5.5, 2.2, "full parse\nof the paraphrase", green),
        "scpn": (4.1, 0.6, "SCPN", orange),
        "filter": (6.1, 0.6, "filter: words and\nmeaning in common", orange),
    }
    arrows = [
        *(("template", "generator"), ("text", "tree"), ("tree", "generator")),
        *(("generator", "parse"), ("parse", "scpn"), ("text", "scpn"), ("scpn", "filter")),
    ]
    return diagram("SCPN: a paraphrase with the syntax of a template", boxes, arrows)


def beside_papers() -> bytes:
    """Draw STS 2012-2016 of the report's systems and of the thesis's."""
    sts = read_figures(DOCS / "results.tsv")["sts"]
    place = sts.columns.index("2012-2016")
    found = [(name, values[place], paper) for name, values, paper in sts.rows]
    found = sorted((row for row in found if row[1] == row[1]), key=lambda row: -row[1])
    names, scores, papers = zip(*found, strict=True)
    figure = new_figure(7, 3.6)
    colors = [COLORS[1] if paper else COLORS[0] for paper in papers]
    label = "STS 2012-2016, Pearson's r x 100"
    bars(figure.subplots(), names, scores, label, color=colors)
    return png(figure, "Measured here (blue) and published (orange)", dpi=110)


def terminal(commands: Sequence[str]) -> str:
    """Draw commands and their real output as the SVG of a terminal."""
    lines: list[tuple[str, str]] = []  # color and text
    for command in commands:
        shown = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
        lines += [("#7ee787", line) for line in f"$ {command}".splitlines()]
        lines += [("#e6edf3", line.expandtabs(4)) for line in (shown.stdout + "\n").splitlines()]
    height = 20 * len(lines) + 16
    rows = "".join(
        f'<text x="16" y="{32 + 20 * row}" fill="{color}" xml:space="preserve">'
        f"{escape(text)}</text>"
        for row, (color, text) in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" role="img" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">'
        f'<rect width="720" height="{height}" rx="8" fill="#0d1117"/>{rows}</svg>\n'
    )


def write_svg(path: Path, figure: Figure) -> None:
    with rc_context({"svg.hashsalt": "paraphrastic_hf"}):
        figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    (DOCS / "quality.png").write_bytes(quality())
    (DOCS / "papers.png").write_bytes(beside_papers())
    (GUIDES / "terminal.svg").write_text(terminal(COMMANDS), encoding="utf-8")
    (GUIDES / "pieces.png").write_bytes(pieces())
    (GUIDES / "languages.png").write_bytes(languages())
    write_svg(GUIDES / "average.svg", average())
    write_svg(GUIDES / "bgt.svg", generative())
    write_svg(DOCS.parent / "recipes" / "scpn-2018" / "scpn.svg", syntactic())
