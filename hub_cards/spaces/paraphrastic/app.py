"""The Space: some pages, each with its fields, an answer, examples and a link to share."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import answers
import drawing
import gradio as gr

from paraphrastic_hf.errors import ParaphrasticError
from paraphrastic_hf.io.limited import SERVER

STYLE, SYNTAX, GENERATOR, PARSER = (
    os.environ.get(f"PARAPHRASTIC_{name}", "")
    for name in ("STYLE", "SYNTAX", "GENERATOR", "PARSER")
)
LONGEST_LINK = 6_000  # characters that servers and messages carry
ABOUT = (
    "# Sentences that mean the same\nSmall encoders for paraphrases, most of which only average "
    "the vectors of a text's tokens."
)
LINK = """(...values) => {
  const names = NAMES, query = new URLSearchParams({tab: TAB});
  names.forEach((name, i) => query.set(name, values[i]));
  const link = window.location.origin + window.location.pathname + "?" + query;
  if (link.length > LONGEST) return "What is written is too long for a link.";
  window.history.replaceState(null, "", link);
  window.parent.postMessage({queryString: query.toString()}, "https://huggingface.co");
  if (navigator.clipboard) navigator.clipboard.writeText(link).catch(() => {});
  return link;
}"""
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

    def make(self) -> gr.Textbox:
        """The field on the page."""
        return gr.Textbox(label=self.label, lines=self.lines, max_lines=12)

    def read(self, value: str) -> str | None:
        """What a link gives; None if the field cannot have it."""
        return value


@dataclass(frozen=True)
class Choice:
    """A field with some choices, the first of which is chosen."""

    label: str
    choices: Sequence[str]

    def make(self) -> gr.Dropdown:
        """The field on the page."""
        return gr.Dropdown(list(self.choices), value=self.choices[0], label=self.label)

    def read(self, value: str) -> str | None:
        """What a link gives; None if the field cannot have it, so that no link loads a model."""
        return value if value in self.choices else None


@dataclass(frozen=True)
class Count:
    """A field for a number from 1 on."""

    label: str
    most: int
    value: int

    def make(self) -> gr.Slider:
        """The field on the page."""
        return gr.Slider(1, self.most, value=self.value, step=1, label=self.label)

    def read(self, value: str) -> int | None:
        """What a link gives; None if the field cannot have it."""
        is_number = value.isascii() and value.isdecimal() and len(value) < 4
        return int(value) if is_number and 1 <= int(value) <= self.most else None


@dataclass(frozen=True)
class Page:
    """A page: a name for links, a title, fields by the names of links, and what answers them."""

    name: str
    title: str
    about: str
    fields: dict[str, Text | Choice | Count]
    answer: Callable[..., str]
    examples: Sequence[Sequence[Any]]


def pages() -> list[Page]:
    """The pages for which there is a model."""
    models = answers.models()
    model = Choice("model", models)
    found = [
        Page(
            "similarity",
            "Similarity",
            "How near two texts are, and what each token has in it.",
            {"a": Text("first text"), "b": Text("second text"), "model": model},
            answers.similarity,
            [
                [*CATS, models[0]],
                ["The film is good.", "The film is not good.", models[0]],
                ["a cat sleeps", "un chat dort", models[-1]],
            ],
        ),
        Page(
            "nearest",
            "Nearest",
            "The sentences of a list that are nearest to a query.",
            {
                "query": Text("query", 1),
                "lines": Text("list, one sentence a line", 6),
                "model": model,
                "count": Count("how many", 50, 5),
            },
            answers.nearest,
            [[QUERY, LINES, models[0], 3]],
        ),
        Page(
            "simile",
            "SimiLE",
            "Translations of one or two systems against references, one segment a line.",
            {
                "baseline": Text("baseline", 5),
                "other": Text("other system (may be left out)", 5),
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
                "The meaning of one sentence in the style of another.",
                {
                    "source": Text("meaning of"),
                    "style": Text("in the style of"),
                    "language": Choice("language to write", languages),
                    "count": Count("how many", 10, 3),
                },
                functools.partial(answers.style, model=STYLE),
                [["The cat sleeps on the wall.", "Where is my sister?", languages[0], 3]],
            )
        )
    if SYNTAX and answers.can_write_syntax():
        found.append(
            Page(
                "syntax",
                "Syntax",
                "A sentence by the templates of its syntax that are given.",
                {"text": Text("sentence"), "templates": Text("templates, one a line", 4)},
                functools.partial(answers.syntax, model=SYNTAX, generator=GENERATOR, parser=PARSER),
                [[CATS[0], "(ROOT (S (NP) (VP) (.)))\n(ROOT (SBARQ (WHNP) (SQ) (.)))"]],
            )
        )
    return found


def answered(answer: Callable[..., str]) -> Callable[..., str]:
    """The same, where an error of the package is a message on the page."""

    @functools.wraps(answer)
    def answer_or_say(*values: Any) -> str:
        try:
            return answer(*values)
        except (ParaphrasticError, ValueError) as error:
            return drawing.note(str(error))

    return answer_or_say


def from_link(known: Sequence[Page], query: Mapping[str, str]) -> list[Any]:
    """What a link asks for: the page to show, and for each page its fields and its answer.

    A field stays as it is if the link lacks it, or has what it cannot be; then nothing is answered.
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
    """The whole app."""
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
    return app


def _show(page: Page) -> list[Any]:
    """Lay out a page; returns its fields and its answer."""
    gr.Markdown(page.about)
    fields = [field.make() for field in page.fields.values()]
    with gr.Row():
        button = gr.Button("Go", variant="primary", elem_id=f"go-{page.name}", min_width=120)
        share = gr.Button("Link to this", elem_id=f"share-{page.name}", min_width=120)
    answer = gr.HTML(elem_id=f"answer-{page.name}")
    link = gr.Textbox(label="link", visible=True, elem_id=f"link-{page.name}", interactive=False)
    run = answered(page.answer)
    button.click(run, fields, answer, api_name=page.name)
    script = LINK.replace("NAMES", json.dumps(list(page.fields)))
    script = script.replace("TAB", json.dumps(page.name)).replace("LONGEST", str(LONGEST_LINK))
    share.click(None, fields, link, js=script)
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
    return [*fields, answer]


if __name__ == "__main__":
    build().launch(css=drawing.CSS, footer_links=[], ssr_mode=False, app_kwargs=SERVER)
