"""The sections of a card, each written from what a run left; none claims what was not measured."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.corpora.sources import SOURCES
from paraphrastic_hf.errors import counted
from paraphrastic_hf.hub.families import (
    PARSER,
    composition,
    paraphraser,
    token_kind,
    tokens_of,
    translator,
    word_order,
)
from paraphrastic_hf.hub.paraphrasing import paraphrasing
from paraphrastic_hf.hub.trained import PICTURE, TrainedModel, dataset_title
from paraphrastic_hf.io.markdown import code, literal, markdown_table

NOT_STATED = "not stated"
TASKS = {
    "relatedness": "scores of two texts",
    "entailment": "the relation of two texts",
    "sentiment": "the class of a text",
    "tagging": "a tag for every word of a sentence",
    "parsing": "the constituency tree of a sentence",
}
OF_WORDS = ("tagging", "parsing")  # tasks whose encoder reads single words
BOTH = "both_directions"  # of pairs of paraphrases, in a recipe
SPLITS = ("train", "validation", "test")
PREDICTIONS = {
    "relatedness": 'predict(["a cat sleeps"], ["a cat is asleep"])',
    "entailment": 'predict(["a cat sleeps"], ["a cat is asleep"])',
    "sentiment": 'predict(["a good film"])',
}
HERE = "  # this directory, or USER/NAME on the Hub"  # stands in all that follow
USE_ENCODER = """from paraphrastic_hf import SentenceEncoder

model = {model}  # this directory, or USER/NAME on the Hub
encoder = SentenceEncoder.from_pretrained(model)
encoder.similarity(["a cat sleeps"], ["a cat is asleep"])

{stock}
from sentence_transformers import SentenceTransformer

SentenceTransformer(model{trust}).encode(["a cat sleeps"])"""
USE_WRITER = """

# what it writes: `translate`, `reconstruct`, `transfer`
from paraphrastic_hf import LatentGenerator

LatentGenerator.from_pretrained(model).{verb}(["a cat sleeps"], {argument}={language})[0][0].text"""
USE_PREDICTOR = """from paraphrastic_hf import SentencePredictor

model = {model}  # this directory, or USER/NAME on the Hub
SentencePredictor.from_pretrained(model).{prediction}"""
USE_PARSER = """from paraphrastic_hf import SentenceParser

model = {model}  # this directory, or USER/NAME on the Hub
SentenceParser.from_pretrained(model).parse(["I saw a cat."])[0].tree"""
USE_TAGGER = """from paraphrastic_hf import Tagger

model = {model}  # this directory, or USER/NAME on the Hub
Tagger.from_pretrained(model).tag([["I", "saw", "a", "cat", "."]])"""
USE_TRANSLATOR = """from paraphrastic_hf import Translator

model = {model}  # this directory, or USER/NAME on the Hub
Translator.from_pretrained(model).translate(["..."], beams=5)[0][0].text

# or transformers alone
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

translator = AutoModelForSeq2SeqLM.from_pretrained(model{trust})
tokenizer = AutoTokenizer.from_pretrained(model{trust})
ids = translator.generate(**tokenizer("...", return_tensors="pt"), max_length=50)
tokenizer.decode(ids[0], skip_special_tokens=True)"""
USE_LANGUAGE_MODEL = """from transformers import AutoModelForCausalLM, AutoTokenizer

directory = {model}  # this directory, or USER/NAME on the Hub
model = AutoModelForCausalLM.from_pretrained(directory, trust_remote_code=True)
tokenizer = AutoTokenizer.from_pretrained(directory, trust_remote_code=True)
model.generate(**tokenizer("the", return_tensors="pt"), max_new_tokens=20, do_sample=True)"""


def front_matter(
    trained: TrainedModel,
    *,
    languages: Sequence[str] = (),
    licence: str | None = None,
    **more: Any,
) -> str:
    """The YAML block that the Hub reads; what nobody said is left out of it.

    Args:
        trained: The model.
        languages: Codes of its languages; those that its recipe names if there are none.
        licence: Of the weights, as the Hub names it; None if not stated.
        **more: `base_model`, `datasets`, `eval_results` and others of `ModelCardData`.
    """
    from huggingface_hub import ModelCardData

    library = "sentence-transformers" if trained.is_encoder else "transformers"
    static = ["static-embedding"] if trained.is_stock else []
    data = ModelCardData(
        license=licence,
        language=list(languages) or trained.languages or None,
        library_name=library,
        pipeline_tag=_pipeline(trained),
        tags=["paraphrastic", *static, library],
        **more,
    )
    return f"---\n{data.to_yaml(original_order=['license'])}\n---"


def about(trained: TrainedModel) -> str:
    """What the model computes, and its size."""
    size = (trained.directory / "model.safetensors").stat().st_size / 1e6
    weights = f"{size:.1f} MB of weights." if size >= 0.1 else f"{1000 * size:.0f} kB of weights."
    tokens = tokens_of(token_kind(trained.directory))
    if trained.paraphrases:
        return f"{paraphraser(trained.config, tokens)} {weights}"
    if trained.translates:
        return f"{translator(trained.config, tokens)} {weights}"
    if trained.generates:
        config = trained.config
        return (
            f"A causal transformer over the {tokens} of a sentence: blocks "
            f"{config['num_hidden_layers']}, heads {config['num_attention_heads']}, dimensions "
            f"{config['hidden_size']}, entries {config['vocab_size']:,}. {weights}"
        )
    encoder = trained.encoder
    how = composition(encoder, trained.directory)
    entries = f"{encoder['vocab_size']:,} entries, {encoder['hidden_size']} dimensions. {weights}"
    if trained.task:
        what = "word" if trained.task in OF_WORDS else "text"
        layers = f"{PARSER} " if trained.task == "parsing" else ""
        return f"Predicts {TASKS[trained.task]}. {layers}The vector of a {what} is {how}. {entries}"
    return (
        f"A sentence encoder; similarity is the cosine of two vectors. The vector of a sentence is "
        f"{how}. {entries}"
    )


def use(trained: TrainedModel, repository: str | None = None) -> str:
    """Python that loads and uses the model.

    Args:
        trained: The model.
        repository: Where on the Hub it is; None for its folder here.
    """
    code = _use(trained, json.dumps(repository or trained.name, ensure_ascii=False))
    return code if repository is None else code.replace(HERE, "")


def _use(trained: TrainedModel, model: str) -> str:
    if trained.paraphrases:
        return paraphrasing(trained.config, model)
    if trained.translates:
        is_own = str(trained.config.get("model_type")).startswith("paraphrastic-")
        trust = ", trust_remote_code=True" if is_own else ""
        return USE_TRANSLATOR.format(model=model, trust=trust)
    if trained.generates:
        return USE_LANGUAGE_MODEL.format(model=model)
    if trained.task == "tagging":
        return USE_TAGGER.format(model=model)
    if trained.task == "parsing":
        return USE_PARSER.format(model=model)
    if trained.task:
        return USE_PREDICTOR.format(model=model, prediction=PREDICTIONS[trained.task])
    stock = "stock classes; needs nothing of ours" if trained.is_stock else "with this package"
    trust = "" if trained.is_stock else ", trust_remote_code=True"
    if trained.is_stock and _precision(trained) == "F16":  # sums of many rows overflow in it
        stock, trust = f"{stock}; float, since its file has float16", ").float("
    encoding = USE_ENCODER.format(model=model, stock=f"# {stock}", trust=trust)
    return encoding + _writing(trained.config)


def _precision(trained: TrainedModel) -> str:
    """The format of the first numbers of the weights, as safetensors names it."""
    from safetensors import safe_open

    with safe_open(trained.directory / "model.safetensors", "np") as weights:
        first = next(iter(weights.keys()))
        return str(weights.get_slice(first).get_dtype())


def _writing(config: Mapping[str, Any]) -> str:
    """Python by which a generative model writes; nothing for other models."""
    written = dict(config)
    if config.get("model_type") == "paraphrastic-mgt":  # translates into all its languages
        written["translates"] = config["languages"]
    for key, verb, argument in (
        ("translates", "translate", "to"),
        ("reconstructs", "reconstruct", "language"),
    ):
        if written.get(key):
            language = json.dumps(written[key][-1])
            return USE_WRITER.format(verb=verb, argument=argument, language=language)
    return ""


def command(trained: TrainedModel) -> str:
    """The command that trains the model again, beside its recipe."""
    return f"paraphrastic train recipe.yaml --output {shlex.quote(trained.name)}"


def circumstances(trained: TrainedModel) -> str:
    """How long training was, on what, and from what it started."""
    run, at = trained.run, trained.run["progress"]
    examples = at.get("examples", at.get("pairs"))  # older runs have `pairs`
    versions = " and ".join(f"{name} {version}" for name, version in run["versions"].items())
    processes = f" in {run['processes']} processes" if run.get("processes", 1) > 1 else ""
    device = f", device {run['device']}" if "device" in run else ""
    starts = " and ".join(map(_source_name, trained.starts))
    begun = f" It started from {starts}, whose sources and licence count as well." * bool(starts)
    if trained.teachers:
        begun += f" It learned the vectors of {' and '.join(map(_source_name, trained.teachers))}."
    if trained.merges:
        merges = " and ".join(map(_source_name, trained.merges))
        begun += f" Its table is the mean of its own and of {merges}, turned onto it."
    return literal(
        f"Seed {trained.recipe['seed']}; steps {at['step']:,}; {counted(examples, 'example')} "
        f"seen in {_duration(at['seconds'])} of training with "
        f"{counted(run['threads'], 'CPU thread')}{processes}{device}; {versions}; finished "
        f"{run['finished'][:10]}. The recipe lies beside this card.{begun}"
    )


def sources(trained: TrainedModel, known: Mapping[str, str] | None = None) -> list[str]:
    """A table of what a model was trained on, with licences.

    Args:
        trained: The model.
        known: Licences by the names of sources; of others, what this package has on record.
    """
    run, recipe, known = trained.run, trained.recipe, known or {}
    if trained.task:
        dataset = recipe["task"]["dataset"]
        counts = [f"{run['examples'][split]:,}" for split in SPLITS]
        name = dataset_title(dataset)
        row = [name, *counts, known.get(name) or _licence(dataset)]
        return markdown_table(["corpus", *SPLITS, "licence"], [row], "lrrrl")
    given = {_name_of(source): source.get("dataset") for source in _given_sources(recipe)}
    licences = {
        name: known.get(_source_name(name)) or _licence(given.get(name))
        for name in [*given, *(trained.counts or ("", ()))[1]]
    }
    held_out = [f"{count:,} of {name}" for name, count in run.get("pairs_held_out", {}).items()]
    said = literal(f"Pairs held out of training: {', '.join(held_out)}.")
    left = ["", said] if held_out else []
    if trained.counts is not None:
        what, of_source = trained.counts
        rows = [
            [_source_name(name), f"{count:,}", licences[name]] for name, count in of_source.items()
        ]
        return [*markdown_table(["source", what, "licence"], rows, "lrl"), *left]
    rows = [[_source_name(name), licences[name]] for name in given]
    lines = markdown_table(["source", "licence"], rows, "ll") if rows else []
    for what in ("sentences", "pairs"):
        if what in run:
            ways = ", of which each pair gives two" * bool(recipe.get("data", {}).get(BOTH))
            lines += ["", f"{run[what]:,} distinct {what} were trained on{ways}."]
    return [*lines, *left]


def picture(trained: TrainedModel) -> list[str]:
    """The training curve, if one was drawn."""
    if not (trained.directory / PICTURE).exists():
        return []
    return [f"![Training curve]({PICTURE})"]


def scores(trained: TrainedModel) -> list[str]:
    """What the run itself measured, and how more is measured."""
    run = trained.run
    if trained.task:
        measures = [name for name, value in run["test"].items() if isinstance(value, (int, float))]
        rows = [[split, *(f"{run[split][name]:,.4g}" for name in measures)] for split in SPLITS[1:]]
        return markdown_table(["split", *measures], rows)
    if trained.generates and "cost" not in run:
        if "held_out" not in run:
            return ["No sentences were held out, and nothing has been measured."]
        held_out = run["held_out"]
        what = (
            f"{run['held_out_pairs']:,} {'paraphrases' if trained.paraphrases else 'translations'}"
            if trained.translates
            else f"{held_out['sentences']:,} sentences"
        )
        file = run.get("development")
        where = f"of {PurePath(file).name}" if names_file(file) else "of the same sources"
        is_chosen = run["progress"]["best_step"] is not None
        chose = "; they also chose the state that was kept" * is_chosen
        return wrapped(
            f"Perplexity {held_out['perplexity']:.1f} a token ({held_out['nats_per_token']:.3f} "
            f"nats) on {what} {where} that were not trained on{chose}."
        )
    held_out = [[name, f"{value:.4g}"] for name, value in _figures(run.get("held_out", {}))]
    table = [*markdown_table(["of held-out examples", "figure"], held_out), ""] if held_out else []
    known = ["the figures above"] * bool(held_out)
    known += ["the development score"] * (run["progress"]["best_step"] is not None)
    measured = f"Nothing but {' and '.join(known)}" if known else "Nothing"
    if trained.translates:
        return table + wrapped(f"{measured} has been measured.")
    evaluating = code(f"paraphrastic evaluate {shlex.quote(trained.name)} --suite all")
    return table + wrapped(
        f"{measured} has been measured. {evaluating} measures more, "
        "and `paraphrastic card` writes a card with its figures."
    )


def _figures(record: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a record, and of records within it by both names."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _figures(value, f"{within}{name}, ")
        elif isinstance(value, (int, float)):
            yield within + name, value


def limits(trained: TrainedModel) -> str:
    """What follows from how the model is built, and what nobody has looked at."""
    order = ""
    if not trained.generates and trained.task not in OF_WORDS:
        order = word_order(trained.encoder, trained.directory)
        order = f"{order} A text without a known token has the zero vector.".lstrip()
    return f"{order} It knows text of the kinds above best.".lstrip()


def wrapped(text: str) -> list[str]:
    """Prose as lines of at most a hundred characters, none broken within a word."""
    return textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False)


def page(sections: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Sections as one text; those without a line are left out."""
    found = []
    for title, lines in sections:
        if lines:
            found += [f"## {title}" if title else "", "", *lines, ""]
    return "\n".join(found).strip() + "\n"


def _pipeline(trained: TrainedModel) -> str:
    """The task of the Hub."""
    if trained.is_encoder:
        return "sentence-similarity"
    if trained.paraphrases:
        return "text-generation"
    if trained.translates:
        return "translation"
    if trained.generates:
        return "text-generation"
    return "token-classification" if trained.task in OF_WORDS else "text-classification"


def _given_sources(recipe: Mapping[str, Any]) -> list[dict[str, Any]]:
    return recipe.get("data", {}).get("sources") or []


def _source_name(name: str) -> str:
    """A source as others may read it: of a path on one machine, its last part."""
    return PurePath(name).name if PurePath(name).is_absolute() else name


def _name_of(source: dict[str, Any]) -> str:
    """What `run.json` calls a source of the recipe."""
    dataset = source.get("dataset")
    return dataset_title(dataset) if dataset else str(source.get("path"))


def _licence(dataset: dict[str, Any] | None) -> str:
    record = SOURCES.get(dataset["name"]) if dataset else None
    return NOT_STATED if record is None else record.licence


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes"
