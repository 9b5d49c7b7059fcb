"""What a card says of how a model paraphrases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

USE_PARAPHRASER = """from paraphrastic_hf import SyntacticParaphraser

model = {model}  # this directory, or USER/NAME on the Hub
paraphraser = SyntacticParaphraser.from_pretrained(model)
{call}"""
CANONICAL = 'paraphraser.canonicalise(["a cat sleeps ."])'
BY_TEMPLATE = """paraphraser.paraphrase(
    ["a cat sleeps ."], paraphraser.top_templates(20), min_similarity=None
)"""
BY_PARSE = """paraphraser.paraphrase(
    ["a cat sleeps ."], ["(S (NP (DT) (NN)) (VP (VBZ)) (.))"], min_similarity=None
)  # templates need a parse generator and a parser: from_pretrained(model, generator=, parser=)"""
USE_PARSE_GENERATOR = """from paraphrastic_hf import Writing
from paraphrastic_hf.generation.templated import TemplatedWriter
from paraphrastic_hf.syntax.parse_tokens import checked_tree, parse_text

model = {model}  # this directory, or USER/NAME on the Hub
parse = parse_text(checked_tree("(S (NP (DT a) (NN cat)) (VP (VBZ sleeps)) (. .))"))
template = parse_text(checked_tree("(S (NP) (VP) (.))"))
how = Writing(beams=3, max_tokens=150)
TemplatedWriter.from_pretrained(model).write([parse], [[template]], how)[0][0][0].text

# it fills templates for a model that reads whole parses:
# SyntacticParaphraser.from_pretrained(..., generator=model, parser=...)"""


def paraphrasing(config: Mapping[str, Any], model: str) -> str:
    """Python that paraphrases by the model."""
    if config.get("writes") == "parse":
        return USE_PARSE_GENERATOR.format(model=model)
    reads = config.get("template", "none")
    call = {"parse": BY_PARSE, "template": BY_TEMPLATE}.get(reads, CANONICAL)
    return USE_PARAPHRASER.format(model=model, call=call)
