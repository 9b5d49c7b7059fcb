"""The kinds of training: a recipe's `kind` names the keys it has and what a run of it does.

A new kind adds a recipe class, a class that answers to `TrainingJob`, and a line to `JOBS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from paraphrastic_hf.config.packaged_recipes import find_recipe
from paraphrastic_hf.config.recipe import (
    CORPUS,
    build,
    key_paths,
    kind_of,
    parse_overrides,
    read_mapping,
    set_key,
)
from paraphrastic_hf.errors import RecipeError
from paraphrastic_hf.training.contrastive.recipe import ContrastiveRecipe
from paraphrastic_hf.training.distillation.recipe import DistillationRecipe
from paraphrastic_hf.training.engine.recipe import OptimizationArguments, RunArguments
from paraphrastic_hf.training.generative.recipe import GenerativeRecipe
from paraphrastic_hf.training.language_model.recipe import LanguageModelRecipe
from paraphrastic_hf.training.minimum_risk.recipe import MinimumRiskRecipe
from paraphrastic_hf.training.paraphrase.recipe import ParaphraseRecipe
from paraphrastic_hf.training.supervised.recipe import SupervisedRecipe
from paraphrastic_hf.training.translation.recipe import TranslationRecipe

if TYPE_CHECKING:
    from accelerate import Accelerator

    from paraphrastic_hf.models.base import ParaphrasticModel
    from paraphrastic_hf.training.engine.loop import Objective


class Recipe(Protocol):
    """What every recipe has, whatever its kind; `load_recipe` reads one."""

    @property
    def kind(self) -> str:
        """What is trained: a key of `JOBS`."""

    @property
    def training(self) -> OptimizationArguments:
        """The objective and its optimization."""

    @property
    def run(self) -> RunArguments:
        """Checkpoints, logs and model selection."""

    @property
    def seed(self) -> int:
        """Seed of all that is random."""


class TrainingJob(Protocol):
    """What one kind of recipe does in a run; `run.train` calls these in this order.

    Making one checks the recipe and reads what can be read at once, so that a mistake is found
    before anything in the output folder is touched.
    """

    def __init__(self, recipe: Any, context: Context) -> None: ...

    def prepare(self, work: Path) -> None:
        """Leave in `work` what the run reads: a tokenizer, tokenized text. It is called in the
        first process alone, and again when the run resumes: what is there already stays."""

    def build(self, work: Path) -> ParaphrasticModel:
        """The model at its start, from what `prepare` left. Random weights have been seeded."""

    def objective(self, model: Any, accelerator: Accelerator) -> Objective:
        """What the loop trains the model on."""

    def development(self) -> Callable[[Any], float] | None:
        """A function from the model to its score on the development set, of which more is better;
        None if there is no such set and the last weights are kept."""

    def save(self, model: Any, output: Path) -> dict[str, Any]:
        """Write the finished model to `output`; what it comes to, for `run.json`."""


@dataclass(frozen=True)
class Context:
    """What a run is given beside its recipe.

    Attributes:
        data_root: Folder that the recipe's paths start from; else the variable PARAPHRASTIC_DATA,
            else the working folder.
        datasets: `datasets.Dataset` objects, or iterables of mappings, to train on besides the
            recipe's sources; `(dataset, SourceArguments)` gives one languages, a cap or a weight.
        progress: Whether to show progress bars.
    """

    data_root: str | Path | None = None
    datasets: Iterable[Any] = ()
    progress: bool = False


@dataclass(frozen=True)
class JobEntry:
    """One kind of training: the class of its recipes, `module:class` of its `TrainingJob`, and what
    its examples are called."""

    recipe: type
    implementation: str
    examples: str

    def load(self) -> type[TrainingJob]:
        """Import the class of the job, which needs torch."""
        module, _, name = self.implementation.partition(":")
        found: type[TrainingJob] = getattr(
            importlib.import_module(f"paraphrastic_hf.training.{module}"), name
        )
        return found


JOBS = {
    "contrastive": JobEntry(ContrastiveRecipe, "contrastive.job:Contrastive", "pairs"),
    "distillation": JobEntry(DistillationRecipe, "distillation.job:Distillation", "sentences"),
    "supervised": JobEntry(SupervisedRecipe, "supervised.job:Supervised", "examples"),
    "generative": JobEntry(GenerativeRecipe, "generative.job:Generative", "pairs"),
    "language_model": JobEntry(
        LanguageModelRecipe, "language_model.job:LanguageModeling", "sentences"
    ),
    "translation": JobEntry(TranslationRecipe, "translation.job:Translation", "pairs"),
    "paraphrase": JobEntry(ParaphraseRecipe, "paraphrase.job:Paraphrasing", "pairs"),
    "minimum_risk": JobEntry(MinimumRiskRecipe, "minimum_risk.job:MinimumRisk", "pairs"),
}


def load_recipe(path: str | Path, overrides: Sequence[str] = ()) -> Any:
    """Read a recipe file of any kind, with command-line overrides applied on top.

    Args:
        path: YAML file, or the name of a recipe that comes with the package, such as `own` or
            `simple-and-effective-2019/own`. Without a `kind`, a recipe with a `task` is supervised,
            any other contrastive.
        overrides: Alternating `--key value...` strings, as `recipe.read_recipe` takes them. With
            `--start` the file's own tokenizer and encoder give way.

    Returns:
        An instance of the kind's recipe class.

    Raises:
        RecipeError: Missing or malformed file, an unknown kind or key, or a wrong value.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        ...     _ = file.write("data: {sources: [pairs.tsv]}"), file.flush()
        ...     load_recipe(file.name, ["--margin", "0.5"]).training.margin
        0.5
    """
    mapping, settings = read_mapping(find_recipe(path)), parse_overrides(overrides)
    own_kind = kind_of(mapping)
    mapping |= {key: value for key, value in settings if key == "kind"}
    recipe_class = class_of(mapping)
    if any(key == "start" for key, _ in settings):
        _make_room_for_start(mapping)
    for key, value in settings:
        _refuse_key_of_another_kind(key, recipe_class)
        set_key(recipe_class, mapping, key, value)
    try:
        return build(recipe_class, mapping)
    except RecipeError as error:
        if kind_of(mapping) == own_kind:
            raise
        raise RecipeError(
            f"{path} is a recipe of kind {own_kind}, and does not do with --kind "
            f"{kind_of(mapping)} ({error}): leave --kind out, or name a recipe of that kind"
        ) from error


def load_contrastive(path: str | Path, overrides: Sequence[str] = ()) -> ContrastiveRecipe:
    """Read a recipe of a sentence encoder, for what varies such recipes and no others.

    Args:
        path: As `load_recipe` takes it.
        overrides: As `load_recipe` takes them.
    """
    recipe = load_recipe(path, overrides)
    if not isinstance(recipe, ContrastiveRecipe):
        raise RecipeError(
            f"{path} is a recipe of kind {recipe.kind}; name one of sentence encoders (contrastive)"
        )
    return recipe


def _make_room_for_start(mapping: dict[str, Any]) -> None:
    """Take out of a recipe's file the tokenizer and the encoder, in whose place a `--start` comes;
    what is left of `model` are the two dropouts."""
    mapping.pop("tokenizer", None)
    model = mapping.pop("model", None)
    if isinstance(model, dict):
        kept = {key: model[key] for key in ("embedding_dropout", "word_dropout") if key in model}
        mapping["model"] = kept


def _refuse_key_of_another_kind(key: str, recipe_class: type) -> None:
    """Say whose key it is, where this kind has none of that name."""

    def has(owner: type) -> bool:
        names = key_paths(owner)
        return any(name == key or name.endswith(f".{key}") for name in names) or any(
            name.startswith(f"{key}.") for name in names
        )

    owners = [kind for kind, entry in JOBS.items() if has(entry.recipe)]
    own = next(kind for kind, entry in JOBS.items() if entry.recipe is recipe_class)
    if owners and own not in owners:
        raise RecipeError(
            f"--{key} is a key of kind {' and '.join(owners)}, and this recipe is of kind {own}: "
            "leave it out"
        )


def class_of(mapping: dict[str, Any]) -> type:
    """The class of the recipe with these keys and values."""
    kind = kind_of(mapping)
    if kind == CORPUS:
        raise RecipeError("this recipe makes a corpus: give it to `paraphrastic corpus make`")
    if not isinstance(kind, str) or kind not in JOBS:
        raise RecipeError(
            f"kind must be one of {', '.join(JOBS)}, got {kind!r}; those of a tokenizer and of an "
            "encoder are --tokenizer.kind and --model.kind"
        )
    return JOBS[kind].recipe
