"""Model cards: values for the template `model_card.md.jinja`.

A card states only facts from the model's folder, the given evaluations and the kind of model.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from huggingface_hub import EvalResult

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.corpora.sources import SOURCES
from paraphrastic_hf.encoders.push import CARD
from paraphrastic_hf.errors import counted
from paraphrastic_hf.evaluation.report import figure_text, headline_table
from paraphrastic_hf.evaluation.suites.sts import YEARS
from paraphrastic_hf.hub.licenses import (
    SourceLicense,
    checked_license,
    packaged_languages,
    packaged_table,
    source_licenses,
)
from paraphrastic_hf.hub.results import figures, for_languages, own_results
from paraphrastic_hf.hub.trained import (
    PICTURE,
    TrainedModel,
    dataset_title,
    model_class,
    own_module,
)
from paraphrastic_hf.io.files import PARTS_FOLDER, WEIGHTS, content_hash, read_json, write_bytes
from paraphrastic_hf.io.markdown import bold, code, literal, markdown_table
from paraphrastic_hf.metrics.resampling import p_text

TEMPLATE = Path(__file__).with_name("model_card.md.jinja")
NOT_STATED = "not stated"  # license
SPLITS = ("train", "validation", "test")
TASKS = {
    "relatedness": "the similarity of two texts",
    "entailment": "the relation between two texts",
    "sentiment": "the sentiment of a text",
    "tagging": "a tag for every word of a sentence",
    "parsing": "the constituency tree of a sentence",
}
WORDS = {"sentencepiece": "word pieces", "word": "words"}  # tokens that do not span words
TOKENS = {**WORDS, "char": "characters", "char_ngram": "character n-grams"}
COPY_TAGS = {"model2vec": ["model2vec"], "onnx": ["onnx", "transformers.js"]}
# Checkpoint selection of contrastive runs, by the development set of the recipe.
BEST = "This checkpoint scored best on"
SELECTION = {
    "none": "The last checkpoint was kept, without a development set.",
    "clean": f"{BEST} the clean development set: pairs from STS-B dev, SICK trial "
    "and Annotated-PPDB dev that are in no reported test set.",
    "clean-and-bitext": f"{BEST} the clean development set and held-out translations. The clean "
    "set consists of pairs from STS-B dev, SICK trial and Annotated-PPDB dev that are in no "
    "reported test set.",
    "stsb-dev": f"{BEST} STS-B dev. Of its 1,500 pairs, 1,131 are also in STS 2012-2016 and 125 "
    "in STS 2017 en-en, so scores on these sets are partly scores on development data.",
    "sts17-en-en": f"{BEST} STS 2017 en-en, so its score on that set is not a test score. Of its "
    "250 pairs, 125 are also in STS-B test.",
    "ws353-tuning": f"{BEST} the two parts of WordSim-353, so its scores on WS353, WS-S and WS-R "
    "are not test scores.",
}
OF_PAIRS = (
    "were selected on STS-B dev and STS 2017 en-en, parts of which are in STS 2012-2016 and STS-B "
    "test."
)
TEACHERS = (
    "distilled from all-MiniLM-L6-v2 (Apache-2.0), a transformer, and from a table trained on "
    "paraphrases and translations."
)
OPEN = "All training text has an open license."
WEIGHTED = (
    "selected on this set and on human scores of translations (newstest2015), so scores on "
    "newstest2015 are not test scores. The settings of the second teacher, "
    f"`default/english-pairs`, {OF_PAIRS}"
)
LIKE_ENGLISH = f"The weights of the two teachers are those of `english`. They were {WEIGHTED}"
PACKAGED = {  # summaries of the packaged models, and notes on their selection
    "english": (
        "English sentence embeddings that place paraphrases close together. The table of word "
        f"pieces was {TEACHERS} {OPEN}",
        f"The weights of the two teachers were {WEIGHTED}",
    ),
    "english-window": (
        "English sentence embeddings that depend on word order. Each word piece is read with its "
        f"two neighbors, and a hidden layer follows the average. It was {TEACHERS} It scores above "
        "`english` on negation and word overlap, at an eighth of its speed. " + OPEN,
        LIKE_ENGLISH,
    ),
    "tiny": (
        "English sentence embeddings in one megabyte: the 80 principal dimensions of a table of "
        f"word pieces. It was {TEACHERS} {OPEN}",
        LIKE_ENGLISH,
    ),
    "multilingual": (
        "Sentence embeddings of fifteen languages, comparable across languages: a table of word "
        "pieces, averaged over four runs. They were trained on translations and paraphrases with "
        "open licenses, on WikDict's dictionaries (Karl Bartel, from Wiktionary), and on frequent "
        "words (wordfreq, Robyn Speer) paired by Google's multilingual sentence encoder v3 "
        "(Apache-2.0).",
        "The other three runs have the seeds 1 to 3 and `--tokenizer.from_model multilingual "
        "--finish.whiten 0 --finish.nested_dimensions false --finish.precision float32`. On "
        "the development data, the average scores 68.5 on the clean set and 88.4 on translations. "
        "Three of the runs alone score 68.1 to 68.5 and 87.4 to 88.3. Learning rate, margin, batch "
        f"size and whitening are those of `default/english-pairs`. They {OF_PAIRS}",
    ),
}
# Rows of the first table: name of our score, and the score of all-MiniLM-L6-v2 (docs/report.md, and
# benchmarks/results/encode for its speed on two threads).
COMPARISON = {
    "STS 2012-2016": ("2012-2016", "76.0"),
    "STS 2012-2016, MTEB's mean": ("MTEB", "77.4"),
    "STS-B test": ("STS-B test", "82.7"),
    "STS17 en-en": ("STS17 en-en", "88.0"),
    "STS17 es-en": ("STS17 es-en", "17.5"),
    "sentences per second": ("CPU, 8192", "193"),
    "MB of weights": ("MB", "91"),
}
RISK = {  # minimum risk training, by the development score of the recipe
    "expected_cost": "The checkpoint with the lowest expected cost of candidates for held-out "
    "pairs was kept. Scores are minus that cost, x 100.",
    "first": "The checkpoint with the lowest cost of the most likely candidates for held-out pairs "
    "was kept. Scores are minus that cost, x 100.",
}


def run_card(directory: str | Path, *, run: Mapping[str, Any] | None = None) -> str:
    """Return the card that `paraphrastic train` writes, from the records of the run.

    `run` is the training record, if `run.json` is not written yet.
    """
    return render(TrainedModel.read(directory, run=run))


@dataclass(frozen=True)
class ModelDetails:
    """Upload options, and facts about a model that its folder does not contain.

    Attributes:
        evaluation: Folder written by `paraphrastic evaluate --output`.
        data_root: Data folder, whose subfolders list licenses in `SOURCES.tsv`.
        source_licenses: Licenses of sources outside the registry, by name or file name.
        license: License of the weights, as named on the Hub (default: a license that the sources
            allow).
        summary: One or two sentences about the model.
        languages: Language codes (default: languages of the recipe).
        base_model: Hub names of the models that training started from (default: `start` of the
            recipe).
        datasets: Hub names of the training data.
        copies: Formats of copies beside the model, `model2vec` or `onnx`, each in a folder of its
            own.
        hide_paths: Shorten absolute paths in the recipe and the training record to their last part.
            By default absolute paths are rejected.
        allow_code: Upload Python files unchanged. By default, files of this package are regenerated
            and other Python files are rejected.
    """

    evaluation: str | Path | None = None
    data_root: str | Path | None = None
    source_licenses: Mapping[str, str] = field(default_factory=dict)
    license: str | None = None
    summary: str = ""
    languages: Sequence[str] = ()
    base_model: Sequence[str] = ()
    datasets: Sequence[str] = ()
    copies: Sequence[str] = ()
    hide_paths: bool = False
    allow_code: bool = False


def full_card(
    trained: TrainedModel,
    details: ModelDetails,
    *,
    private: bool = False,
    indexed: Sequence[str] | None = None,
    **shown: Any,
) -> tuple[str, list[dict[str, Any]]]:
    """Return the card of a model with licenses and scores, and the results that it shows.

    `indexed` are the suites in `model-index` (default: all), `shown` further options of `render`.
    """
    sources = source_licenses(trained, data_root=details.data_root, stated=details.source_licenses)
    license = checked_license(sources, details.license, private=private)
    languages = list(details.languages) or packaged_languages(sources) or trained.languages
    suites = [] if details.evaluation is None else own_results(trained, details.evaluation)
    suites = for_languages(suites, languages)
    scored = [each for each in suites if indexed is None or each["suite"] in indexed]
    options: dict[str, Any] = {
        name: getattr(details, name) for name in ("summary", "base_model", "datasets", "copies")
    }
    options |= {"license": license, "languages": languages, "figures": figures(trained, scored)}
    return render(trained, sources=sources, suites=suites, **options, **shown), suites


def render(
    trained: TrainedModel,
    *,
    repository: str | None = None,
    title: str | None = None,
    sources: Sequence[SourceLicense] = (),
    checksums: str | Path | None = None,
    license: str | None = None,
    figures: Sequence[EvalResult] = (),
    suites: Sequence[Mapping[str, Any]] = (),
    summary: str = "",
    languages: Sequence[str] = (),
    base_model: Sequence[str] = (),
    datasets: Sequence[str] = (),
    copies: Sequence[str] = (),
    command: str | None = None,
) -> str:
    """Render the card of a trained model.

    Args:
        repository: The model's repository on the Hub, for code examples. None for a local card.
        checksums: Data folder of the sources whose checksums are shown. None omits them.
        figures: Scores for `model-index`.
        suites: Results of `paraphrastic evaluate`, shown as tables and plots.
    """
    run, recipe = trained.run, trained.recipe
    title = title or (repository or trained.name).rpartition("/")[2]
    table, begun = _sources(trained, sources, checksums)
    is_half = trained.is_stock and _first_dtype(trained) == "F16"  # long texts overflow
    module = own_module(trained.encoder)
    has_code = module or str(trained.config["model_type"]).startswith("paraphrastic-")
    size = (trained.directory / WEIGHTS).stat().st_size
    change = run.get("change")
    packaged = sources[0].packaged if len(sources) == 1 else None
    about, note = PACKAGED.get(packaged or "", ("", ""))
    speed = next((each["rows"][0]["group"] for each in suites if each["suite"] == "speed"), "")
    text: str = _template(TEMPLATE.read_text(encoding="utf-8")).render(
        m=trained,
        repository=repository,
        title=title,
        model=json.dumps(repository or trained.name, ensure_ascii=False),
        front=_front(
            trained,
            title,
            license,
            languages,
            figures,
            base_model or trained.bases,
            datasets,
            [tag for name in copies for tag in COPY_TAGS[name]],
        ),
        copies=copies,
        summary=summary or about,
        note=note,
        comparison="\n".join(_comparison(trained.name, suites, size)),
        speed=speed.removeprefix("CPU, "),
        tasks=TASKS,
        composition=literal(composition(trained.encoder, trained.directory)),
        size=f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB",
        is_packaged=not repository and any(s.packaged == trained.name for s in sources),
        is_half=is_half,
        trust=", trust_remote_code=True" if has_code and not trained.is_stock else "",
        module=module,
        writes=_writing(trained.config),
        command=command or f"paraphrastic train recipe.yaml --output {shlex.quote(trained.name)}",
        duration=_duration(run["progress"]["seconds"]),
        versions=" and ".join(f"{name} {version}" for name, version in run["versions"].items()),
        names=lambda names: literal(" and ".join(map(_shown, names))),
        selection=_selection(trained),
        p_value=p_text(change["p_value"]) if change else "",
        is_changed=_is_changed(recipe.get("finish") or {}),
        sources="\n".join(table),
        begun=begun,
        has_picture=(trained.directory / PICTURE).exists(),
        suites=suites,
        headline=lambda results: "\n".join(_headline(results)),
        figures="\n".join(_figures_table(run, trained)),
        measured=_measured(run),
        held_out=_held_out(trained) if "held_out" in run and trained.generates else "",
        license=license,
        order=word_order(trained.encoder, trained.directory) if not trained.generates else "",
    )
    return re.sub(r"\n{3,}", "\n\n", text)


def write_card(directory: str | Path, text: str) -> None:
    write_bytes(Path(directory) / CARD, text.encode("utf-8"))


@cache
def _template(text: str) -> Any:
    import jinja2

    environment = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters["literal"] = lambda text: literal(str(text))
    environment.globals.update(counted=counted, number=lambda value: f"{value:,}")
    return environment.from_string(text)


def _front(
    trained: TrainedModel,
    title: str,
    license: str | None,
    languages: Sequence[str],
    figures: Sequence[EvalResult],
    base_model: Sequence[str],
    datasets: Sequence[str],
    tags: Sequence[str],
) -> str:
    from huggingface_hub import ModelCardData

    library = "sentence-transformers" if trained.is_encoder else "transformers"
    if trained.is_encoder:
        task = "sentence-similarity"
    elif trained.generates:
        is_translation = trained.translates and not trained.paraphrases
        task = "translation" if is_translation else "text-generation"
    else:
        of_words = trained.task in ("tagging", "parsing")
        task = "token-classification" if of_words else "text-classification"
    index: dict[str, Any] = {}
    if figures:
        index = {"model_name": title, "eval_results": list(figures)}
    data = ModelCardData(
        license=license,
        language=list(languages) or trained.languages or None,
        library_name=library,
        pipeline_tag=task,
        tags=["paraphrastic", *["static-embedding"] * trained.is_stock, library, *tags],
        base_model=list(base_model) or None,
        datasets=list(datasets) or None,
        **index,
    )
    return data.to_yaml(original_order=["license"])


def composition(config: Mapping[str, Any], tokenizer: Path) -> str:
    """Describe how an encoder computes embeddings, from the `card_sentence` of its class."""
    found = []
    for part, kind in _parts(config, tokenizer):
        sentence = getattr(model_class(part), "card_sentence", "") or (
            "{% if is_encoder_decoder %}a {{ model_type }} encoder-decoder of transformers over "
            "{{ tokens }}"
            "{% if encoder_layers %}, with {{ counted(encoder_layers, 'encoder block') }} and "
            "{{ counted(decoder_layers, 'decoder block') }}{% endif %}, "
            "{{ d_model or hidden_size }} dimensions and {{ number(vocab_size) }} entries."
            "{% else %}the output of a {{ model_type }} model over its {{ tokens }}{% endif %}"
        )
        found.append(_template(sentence).render({**part, "tokens": TOKENS.get(kind, "tokens")}))
    if len(found) == 1:
        return str(found[0])
    joined = "; ".join(f"({number}) {text}" for number, text in enumerate(found, 1))
    how = {"concatenate": "concatenation", "add": "sum"}[config["combine"]]
    return f"the {how} of {len(found)} vectors (thesis, 4.5.6): {joined}"


def word_order(config: Mapping[str, Any], tokenizer: Path) -> str:
    """Describe how word order affects an encoder. Empty if there is no simple rule."""
    parts = _parts(config, tokenizer)
    for part, _ in parts:
        is_average = part.get("encoder_kind") == "average"
        if not is_average and not getattr(model_class(part), "ignores_order", False):
            return ""
    kinds = {kind for _, kind in parts}
    if kinds <= WORDS.keys():
        return 'It ignores word order: "dog bites man" and "man bites dog" have equal vectors.'
    if "char_ngram" in kinds:
        return "Word order matters only for character n-grams that span several words."
    return "It ignores the order of characters, and therefore of words."


def _parts(config: Mapping[str, Any], tokenizer: Path) -> list[tuple[Mapping[str, Any], str]]:
    """Return the encoders of a mixture, or the single encoder, each with its kind of tokens."""
    kind = _token_kind(tokenizer)
    if kind != "mixed":
        return [(config, kind)]
    return [
        (part, _token_kind(tokenizer / PARTS_FOLDER / str(number)))
        for number, part in enumerate(config["parts"])
    ]


def _token_kind(tokenizer: Path) -> str:
    if (tokenizer / "ngrams.json").exists():
        return "char_ngram"
    path = tokenizer / "paraphrastic_tokenizer.json"
    return str(read_json(path)["kind"]) if path.exists() else ""


def _first_dtype(trained: TrainedModel) -> str:
    from safetensors import safe_open

    with safe_open(trained.directory / WEIGHTS, "np") as weights:
        return str(weights.get_slice(next(iter(weights.keys()))).get_dtype())


def _writing(config: Mapping[str, Any]) -> str:
    # an MGT model translates into all its languages
    is_mgt = config["model_type"] == "paraphrastic-mgt"
    for verb, argument, languages in (
        ("translate", "to", config["languages"] if is_mgt else config.get("translates")),
        ("reconstruct", "language", config.get("reconstructs")),
    ):
        if languages:
            return f'{verb}(["a cat sleeps"], {argument}={json.dumps(languages[-1])})'
    return ""


def _selection(trained: TrainedModel) -> str:
    run = trained.run
    if run["progress"]["best_step"] is None:
        return SELECTION["none"]
    if trained.task:
        name = run.get("development", "validation")
        where = literal(PurePath(name).name) if names_file(name) else f"the {name} split"
        best = f"The checkpoint with the best {run['measure']} on {where} was kept"
        return f"{best}, so its score there is not a test score."
    if "cost" in run:
        return RISK.get(run["development"], RISK["expected_cost"])
    if trained.generates:
        return "The checkpoint with the lowest cross-entropy on held-out sentences was kept."
    name = PurePath(run["development"]).name
    return SELECTION.get(name, f"{BEST} {literal(name)}, so that is not a test score.")


def _is_changed(finish: Mapping[str, Any]) -> bool:
    steps = ("merge_with", "whiten", "dimension", "nested_dimensions", "drop_apart")
    is_rounded = finish.get("significant_bits") or finish.get("precision", "float32") != "float32"
    return bool(is_rounded) or any(map(finish.get, steps))


def _sources(
    trained: TrainedModel, known: Sequence[SourceLicense], data_root: str | Path | None
) -> tuple[list[str], str]:
    """Return a table of the run's own sources, and a text that lists inherited sources.

    Inherited sources are those of models that the run started from.
    """
    if len(known) == 1 and known[0].packaged:
        return packaged_table(known[0].packaged), ""
    licenses = {source.name: source.license for source in known}
    what, counts = trained.counts or ("", {})
    recorded = {
        dataset_title(source["dataset"]): source["dataset"]["name"]
        for source in trained.sources
        if source.get("dataset")
    }
    names = list(counts) or [
        dataset_title(each["dataset"]) if each.get("dataset") else str(each.get("path"))
        for each in trained.sources
    ]
    columns, align, rows = ["source", "license"], "ll", []
    if trained.task:
        dataset = trained.recipe["task"]["dataset"]
        names, recorded = [dataset_title(dataset)], {dataset_title(dataset): dataset["name"]}
        columns, align = ["corpus", *SPLITS, "license"], "lrrrl"
    elif counts:
        columns, align = ["source", what, "license"], "lrl"
    if data_root is not None:
        columns, align = [*columns, "SHA-256 of the file"], align + "l"
    for name in names:
        record = SOURCES.get(recorded.get(name, ""))
        license = licenses.pop(_shown(name), None)
        license = license or (record.license if record else NOT_STATED)
        middle = [f"{counts[name]:,}"] if counts else []
        if trained.task:
            middle = [f"{trained.run['examples'][split]:,}" for split in SPLITS]
        file = Path(data_root, name) if data_root else None
        digest = [code(content_hash(file)) if file.is_file() else ""] if file else []
        rows.append([_shown(name), *middle, license, *digest])
    begun = "; ".join(f"{literal(name)} ({literal(text)})" for name, text in licenses.items())
    return (markdown_table(columns, rows, align) if rows else []), begun


def _shown(name: str) -> str:
    return PurePath(name).name if PurePath(name).is_absolute() else name


def _headline(results: Mapping[str, Any]) -> list[str]:
    lines = headline_table(dict(results))
    if results["suite"] != "sts":
        return lines
    rows = [  # tracks and splits outside the yearly tasks
        [f"{row['group']} {row['name']}"]
        + [f"{row['scores'][measure]:.1f}" for measure in ("pearson", "spearman")]
        for row in results["rows"]
        if row["group"] not in YEARS
    ]
    return [*lines, "", *markdown_table(["set", "Pearson", "Spearman"], rows)]


def _comparison(name: str, suites: Sequence[Mapping[str, Any]], size: int) -> list[str]:
    known = {each["suite"]: each for each in suites}
    if "2012-2016" not in known.get("sts", {"headline": {}})["headline"]:
        return []
    tracks = {
        f"STS17 {row['name']}": row["scores"]["pearson"]
        for row in known["sts"]["rows"]
        if row["group"] == "STS17"
    }
    speed = known["speed"]["headline"] if "speed" in known else {}
    found = {**known["sts"]["headline"], **tracks, **speed, "MB": size / 1e6}
    rows = []
    for label, (key, other) in COMPARISON.items():
        if key in found:
            is_better = (found[key] > float(other)) != (key == "MB")
            own = figure_text(found[key])
            rows.append(
                [label, bold(own) if is_better else own, other if is_better else bold(other)]
            )
    return markdown_table(["", name, "all-MiniLM-L6-v2"], rows)


def _figures_table(run: Mapping[str, Any], trained: TrainedModel) -> list[str]:
    if trained.task:
        measures = [name for name, value in run["test"].items() if isinstance(value, (int, float))]
        rows = [[split, *(f"{run[split][name]:,.4g}" for name in measures)] for split in SPLITS[1:]]
        return markdown_table(["split", *measures], rows)
    if "held_out" not in run or (trained.generates and "cost" not in run):
        return []
    rows = [[name, f"{value:.4g}"] for name, value in _numbers(run["held_out"])]
    return markdown_table(["measure on held-out examples", "value"], rows)


def _numbers(record: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of a record with their keys. Keys of nested numbers are joined."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{within}{name}, ")
        elif isinstance(value, (int, float)):
            yield within + name, value


def _measured(run: Mapping[str, Any]) -> str:
    known = ["the scores above"] * ("held_out" in run)
    known += ["the development score"] * (run["progress"]["best_step"] is not None)
    return " and ".join(known)


def _held_out(trained: TrainedModel) -> str:
    run, file = trained.run, trained.run.get("development")
    what = f"{run['held_out'].get('sentences', 0):,} sentences"
    if trained.translates:
        kind = "paraphrases" if trained.paraphrases else "translations"
        what = f"{run.get('held_out_pairs', 0):,} {kind}"
    return f"{what} {f'of {PurePath(file).name}' if names_file(file) else 'of the same sources'}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes"
