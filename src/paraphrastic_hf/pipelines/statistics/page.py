"""HTML page on which people rate pairs. It needs no other file and no network."""

from __future__ import annotations

import html
from collections.abc import Sequence

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Paraphrases to judge</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 0 auto; padding: 1rem; }
article { border-top: 1px solid #8886; padding: 1rem 0; }
p { margin: .2rem 0; } fieldset { border: 0; padding: 0; margin: .4rem 0; }
legend { float: left; width: 7rem; } label { margin-right: 1.2rem; }
footer { position: sticky; bottom: 0; background: Canvas; padding: .6rem 0; }
</style></head><body>
<h1>Paraphrases to judge</h1>
<p>Each pair is a sentence and a possible paraphrase. Answer both questions, then save. Your browser
keeps unsaved answers.</p>
<ul>
<li><b>paraphrase</b>: 3 if both mean the same, except for unimportant details. 2 if they mean about
the same, but something important is missing or different. 1 if they differ in meaning.</li>
<li><b>fluency</b> of the second sentence: 3 without grammatical errors, 2 with one or two errors, 1
with more errors or if nobody would say it.</li>
</ul>
<form>ROWS</form>
<footer><button type="button">Save answers</button> <span></span> of COUNT answered</footer>
<script>
"use strict";
const form = document.querySelector("form"), store = "judged " + location.pathname;
const known = JSON.parse(localStorage.getItem(store) || "{}");
for (const [name, value] of Object.entries(known)) {
  const box = form.querySelector(`input[name="${name}"][value="${value}"]`);
  if (box) box.checked = true;
}
const numbers = [...form.querySelectorAll("article")].map(row => row.id);
const answer = (number, question) => new FormData(form).get(question + " " + number) || "";
function tell() {
  localStorage.setItem(store, JSON.stringify(Object.fromEntries(new FormData(form))));
  const done = numbers.filter(n => answer(n, "paraphrase") && answer(n, "fluency")).length;
  document.querySelector("footer span").textContent = done;
}
form.addEventListener("change", tell);
tell();
document.querySelector("button").addEventListener("click", () => {
  const rows = numbers.map(n => [n, answer(n, "paraphrase"), answer(n, "fluency")].join("\\t"));
  const text = ["row\\tparaphrase\\tfluency", ...rows, ""].join("\\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/tab-separated-values" }));
  link.download = "answers.tsv";
  link.click();
});
</script></body></html>
"""

_ROW = '<article id="{number}"><p>{reference}</p><p>{translation}</p>{choices}</article>\n'
_QUESTION = "<fieldset><legend>{question}</legend>{boxes}</fieldset>"
_BOX = '<label><input type="radio" name="{question} {number}" value="{rating}"> {rating}</label>'


def make_page(rows: Sequence[tuple[str, str]], questions: Sequence[str]) -> str:
    """Return a page with numbered pairs and the questions about each pair."""
    parts = []
    for number, (reference, translation) in enumerate(rows, 1):
        choices = ""
        for question in questions:
            about = {"question": question, "number": number}
            boxes = "".join(_BOX.format(rating=rating, **about) for rating in (1, 2, 3))
            choices += _QUESTION.format(boxes=boxes, **about)
        texts = {"reference": html.escape(reference), "translation": html.escape(translation)}
        parts.append(_ROW.format(number=number, choices=choices, **texts))
    return _PAGE.replace("COUNT", str(len(rows))).replace("ROWS", "".join(parts))
