"""The Space: pages with fields, an answer, examples and a link to share."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import answers
import drawing
import gradio as gr

from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.io.limited import SERVER

STYLE = os.environ.get("PARAPHRASTIC_STYLE", "")
PARAPHRASER = os.environ.get("PARAPHRASTIC_PARAPHRASER", "paraphraser")
LONGEST_LINK = 6_000  # characters that servers and messages accept
ABOUT = "# Paraphrastic\nSmall, fast sentence encoders that place paraphrases close together."
LINK = """(...values) => {
  const names = NAMES, query = new URLSearchParams({tab: TAB}), isCopied = COPIED;
  names.forEach((name, i) => query.set(name, values[i]));
  const link = window.location.origin + window.location.pathname + "?" + query;
  if (link.length > LONGEST) return "The input is too long for a link.";
  window.history.replaceState(null, "", link);
  window.parent.postMessage({queryString: query.toString()}, "https://huggingface.co");
  if (isCopied && navigator.clipboard) navigator.clipboard.writeText(link).catch(() => {});
  return link;
}"""
# Ctrl+Enter answers on the page that is shown
KEYS = """() => document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  for (const button of document.querySelectorAll("[id^=go-]"))
    if (button.offsetParent) button.click();
})"""
CATS = ("The doctor examined the child.", "The physician looked at the boy.")
QUERY = "how do I get home?"
LINES = "Where is the station?\nWhich way is my house?\nIt rains.\nA cat sleeps."
SYSTEMS = (
    "The dog sleeps.\nIt rain today.\nI have two brother.\nWhere the station?\nBread is costly.",
    "A cat sleeps.\nIt rains today.\nI have two brothers.\nWhere is the station?\nBread is dear.",
    "A cat is asleep.\nIt is raining.\nI have two brothers.\nWhere's the station?\nBread is dear.",
)


@dataclass(frozen=True)
class Text:
    """A field for text."""

    label: str
    lines: int = 2

    def make(self, value: str) -> gr.Textbox:
        return gr.Textbox(value, label=self.label, lines=self.lines, max_lines=12, render=False)

    def read(self, value: str) -> str | None:
        """Return the value of a link, or None if it is invalid."""
        return value


@dataclass(frozen=True)
class Choice:
    """A field with choices; the first is the default."""

    label: str
    choices: Sequence[str]

    def make(self, value: str) -> gr.Dropdown:
        return gr.Dropdown(list(self.choices), value=value, label=self.label, render=False)

    def read(self, value: str) -> str | None:
        """Return the value of a link, or None if it is not a choice: no link loads a model."""
        return value if value in self.choices else None


@dataclass(frozen=True)
class Count:
    """A field for a number of at least 1."""

    label: str
    most: int

    def make(self, value: int) -> gr.Slider:
        return gr.Slider(1, self.most, value=value, step=1, label=self.label, render=False)

    def read(self, value: str) -> int | None:
        """Return the value of a link, or None if it is invalid."""
        is_number = value.isascii() and value.isdecimal() and len(value) < 4
        return int(value) if is_number and 1 <= int(value) <= self.most else None


@dataclass(frozen=True)
class Page:
    """A page: its name in links, title, fields by their names in links, and answer function."""

    name: str
    title: str
    about: str
    fields: dict[str, Text | Choice | Count]
    answer: Callable[..., str]
    examples: Sequence[Sequence[Any]]
    opens_answered: bool = False


def pages() -> list[Page]:
    """Return the pages whose model can be loaded."""
    models = answers.models()
    model = Choice("model", models)
    found = [
        Page(
            "similarity",
            "Similarity",
            "Cosine of two texts, and the contribution of each token.",
            {"a": Text("first text"), "b": Text("second text"), "model": model},
            answers.similarity,
            [
                [*CATS, models[0]],
                ["The film is good.", "The film is not good.", models[0]],
                ["a cat sleeps", "un chat dort", models[-1]],
            ],
            opens_answered=True,
        ),
        Page(
            "nearest",
            "Nearest",
            "Sentences of a list nearest to a query.",
            {
                "query": Text("query", 1),
                "lines": Text("list, one sentence per line", 6),
                "model": model,
                "count": Count("number of results", 50),
            },
            answers.nearest,
            [[QUERY, LINES, models[0], 3]],
        ),
        Page(
            "simile",
            "SimiLE",
            "Score one or two systems against references, one segment per line.",
            {
                "baseline": Text("baseline", 5),
                "other": Text("other system (optional)", 5),
                "references": Text("references", 5),
                "model": Choice("model", ["simile", *models]),
            },
            answers.simile,
            [[*SYSTEMS, "simile"]],
        ),
    ]
    if STYLE:
        languages = answers.style_languages(STYLE)
        found.append(
            Page(
                "style",
                "Style",
                "Write the meaning of one sentence in the style of another.",
                {
                    "source": Text("meaning of"),
                    "style": Text("in the style of"),
                    "language": Choice("language", languages),
                    "count": Count("number of outputs", 10),
                },
                functools.partial(answers.style, model=STYLE),
                [["The cat sleeps on the wall.", "Where is my sister?", languages[0], 3]],
            )
        )
    if find_spec("torch"):
        found.append(
            Page(
                "paraphrase",
                "Paraphrase",
                "The best paraphrases of an English sentence, or one for each syntactic template.",
                {"text": Text("sentence"), "templates": Text("templates (optional)", 4)},
                functools.partial(answers.paraphrase, model=PARAPHRASER),
                [
                    ["When it rains, we take the bus to school.", ""],
                    ["He left early because he was tired.", "(ROOT (S (SBAR) (,) (NP) (VP) (.)))"],
                ],
            )
        )
    return found


def answered(answer: Callable[..., str]) -> Callable[..., str]:
    """Wrap an answer function so that errors of the package become messages on the page."""

    @functools.wraps(answer)
    def answer_or_say(*values: Any) -> str:
        try:
            return answer(*values)
        except (ParaphrasticError, ValueError) as error:
            return drawing.error(str(error))

    return answer_or_say


def from_link(known: Sequence[Page], query: Mapping[str, str]) -> list[Any]:
    """Return the page that a link shows, with the fields and the answer of each page.

    If a field of the link is missing or invalid, it stays unchanged and nothing is answered.
    """
    chosen = next((page for page in known if page.name == query.get("tab")), None)
    updates: list[Any] = [gr.Tabs(selected=chosen.name) if chosen else gr.skip()]
    for page in known:
        values = [
            field.read(query[name]) if page is chosen and name in query else None
            for name, field in page.fields.items()
        ]
        updates += [gr.skip() if value is None else value for value in values]
        is_whole = page is chosen and None not in values
        updates.append(answered(page.answer)(*values) if is_whole else gr.skip())
    return updates


def build() -> gr.Blocks:
    """Build the app."""
    known = pages()
    with gr.Blocks(title="Paraphrastic", analytics_enabled=False) as app:
        gr.Markdown(ABOUT)
        outputs: list[Any] = []
        with gr.Tabs() as tabs:
            for page in known:
                with gr.Tab(page.title, id=page.name):
                    outputs += _show(page)

        def load(request: gr.Request) -> list[Any]:
            return from_link(known, dict(request.query_params))

        app.load(load, None, [tabs, *outputs], show_progress="hidden")
        app.load(None, js=KEYS)
    return app


def _show(page: Page) -> list[Any]:
    """Lay out a page and return its fields and its answer."""
    gr.Markdown(page.about)
    run, example = answered(page.answer), page.examples[0]
    fields = [field.make(value) for field, value in zip(page.fields.values(), example, strict=True)]
    shown = run(*example) if page.opens_answered else None
    answer = gr.HTML(shown, elem_id=f"answer-{page.name}", render=False)
    gr.Examples(
        [list(example) for example in page.examples],
        fields,
        answer,
        run,
        run_on_click=True,
        cache_examples=False,
        preload=False,
        api_visibility="private",
        elem_id=f"examples-{page.name}",
    )
    for field in fields:
        field.render()
    with gr.Row():
        button = gr.Button("Go", variant="primary", elem_id=f"go-{page.name}", min_width=120)
        share = gr.Button("Copy link", elem_id=f"share-{page.name}", min_width=120)
    answer.render()
    link = gr.Textbox(label="link", elem_id=f"link-{page.name}", interactive=False)
    button.click(run, fields, answer, api_name=page.name)
    script = LINK.replace("NAMES", json.dumps(list(page.fields)))
    script = script.replace("TAB", json.dumps(page.name)).replace("LONGEST", str(LONGEST_LINK))
    share.click(None, fields, link, js=script.replace("COPIED", "true"))
    for field in fields:
        field.input(None, fields, link, js=script.replace("COPIED", "false"))
    return [*fields, answer]


if __name__ == "__main__":
    build().launch(css=drawing.CSS, footer_links=[], ssr_mode=False, app_kwargs=SERVER)
