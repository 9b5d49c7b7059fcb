"""Recipes of every family that train in a second."""

import re
from collections.abc import Mapping

from paraphrastic_hf import load_recipe, train
from tests.data_root import DEMO

SMALL = "model: {{hidden_size: 8, embedding_dropout: 0.0{}}}"
WORDS = "tokenizer: {kind: word, vocab_size: 200}"
PAIRS = f"""
data: {{sources: [{DEMO}]}}
training: {{epochs: 1, batch_size: 20, mega_batch: 1}}
run: {{development: none, log_every: 1}}
"""
CONTRASTIVE = {
    "sentencepiece": "tokenizer: {vocab_size: 250}\n" + SMALL.format(""),
    "word": f"{WORDS}\n" + SMALL.format(""),
    "weighted": f"{WORDS}\n" + SMALL.format(", kind: weighted"),
    "projection": f"{WORDS}\n" + SMALL.format(", kind: projection, layers: 2, activation: tanh"),
    "window": f"{WORDS}\n" + SMALL.format(", kind: window"),
    "recurrent": f"{WORDS}\n"
    + SMALL.format(", kind: recurrent, bidirectional: true, pooling: max"),
    "gated": f"{WORDS}\n" + SMALL.format(", kind: gated, variant: 2"),
    "charagram": "tokenizer: {kind: char_ngram, vocab_size: 300}\n"
    + SMALL.format(", kind: charagram"),
    "char_cnn": "tokenizer: {kind: char, vocab_size: 60}\n"
    "model: {kind: char_cnn, hidden_size: 8, embedding_size: 4, filter_widths: [2], "
    "filter_counts: [8]}",
    "mixture": "parts:\n- {tokenizer: {kind: word, vocab_size: 200}, model: {hidden_size: 8}}\n"
    "- {tokenizer: {kind: char_ngram, vocab_size: 300}, model: {hidden_size: 4}}",
}
HEAD = f"{WORDS}\n{SMALL.format('')}\ntraining: {{epochs: 2}}\n"
SUPERVISED = {
    "relatedness": HEAD + "task: {kind: relatedness, dataset: sick}",
    "entailment": HEAD + "task: {kind: entailment, dataset: sick_e}",
    "sentiment": HEAD + "task: {kind: sentiment, dataset: {name: sst, config: binary}}",
    "tagging": HEAD + "task: {kind: tagging, dataset: treebank}",
    "parsing": "tokenizer: {kind: char_ngram, orders: [2, 3], vocab_size: 100}\n"
    "model: {kind: charagram, activation: relu, hidden_size: 8, embedding_dropout: 0.0}\n"
    "head: {size: 8, span_size: 8, layers: 1}\ntraining: {epochs: 2}\n"
    "task: {kind: parsing, dataset: gum}",
}
LANGUAGE_MODEL = f"""
kind: language_model
data: {{sources: [{DEMO}], held_out: 10}}
tokenizer: {{kind: word, vocab_size: 200}}
model: {{hidden_size: 8, heads: 2, feed_forward: 16, layers: 1}}
training: {{epochs: 1, warmup_steps: 2}}
"""
BGT = f"""
kind: generative
data: {{sources: [{{path: {DEMO.parents[1]}/default/en-fr.tsv, languages: [en, fr]}}], held_out: 5}}
tokenizer: {{kind: word, vocab_size: 200, marks: end}}
model: {{hidden_size: 8, heads: 2, feed_forward: 16, encoder_layers: 1}}
training: {{epochs: 1, batch_tokens: 400, warmup_steps: 2}}
run: {{development: none}}
"""
MGT = BGT.replace("model: {", "model: {kind: mgt, ")
TRANSLATION = f"""
kind: translation
data:
  sources: [{{path: {DEMO.parents[1]}/default/en-fr.tsv, languages: [en, fr]}}]
  held_out: 5
  max_length: 60
tokenizer: {{kind: word, vocab_size: 400, marks: end}}
model: {{hidden_size: 16, encoder_layers: 1, decoder_layers: 1, positions: 64}}
training: {{epochs: 1, batch_tokens: 400, warmup_steps: 2}}
run: {{development: none}}
"""
PARAPHRASE = f"""
kind: paraphrase
data:
  sources: [{{{{path: {DEMO.parents[1]}/scpn-2018/pairs.tsv, max_pairs: 60}}}}]
  held_out: 5
tokenizer: {{{{kind: word, vocab_size: 100, marks: end}}}}
model: {{{{hidden_size: 16, {{}}}}}}
training: {{{{epochs: 1, batch_size: 16, learning_rate: 1.e-2}}}}
run: {{{{development: held_out}}}}
"""
STOCK = "decoder_layers: 1, heads: 2, positions: 256"
RECIPES = {
    **{name: text + PAIRS for name, text in CONTRASTIVE.items()},
    **SUPERVISED,
    "language_model": LANGUAGE_MODEL,
}
GENERATIVE = {"bgt": BGT, "mgt": MGT}
TRANSLATORS = {
    "gated_conv": TRANSLATION,
    "marian": TRANSLATION.replace("model: {", "model: {kind: marian, heads: 2, "),
}
PARAPHRASERS = {
    "scpn": PARAPHRASE.format("embedding_size: 16"),
    "parse_generator": PARAPHRASE.format("writes: parse, template: template"),
    "paraphraser": PARAPHRASE.format("kind: paraphraser, template: none"),
    "ssru": PARAPHRASE.format("kind: ssru, template: template, heads: 2"),
    "bart": PARAPHRASE.format(f"kind: bart, template: template, {STOCK}"),
}
FAMILIES: Mapping[str, str] = {**RECIPES, **GENERATIVE, **TRANSLATORS, **PARAPHRASERS}


def trained(text, folder, root, *settings):
    """Train a recipe in an empty folder, with the data folder `root`; return the output folder."""
    (folder / "recipe.yaml").write_text(text)
    recipe = load_recipe(folder / "recipe.yaml", settings)
    train(recipe, folder / "mine", data_root=root, progress=False)
    return folder / "mine"


def code_of(card):
    """Return the Python code of a model card."""
    (block,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    return str(block)
