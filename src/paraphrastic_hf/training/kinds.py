"""The kinds of training, by the `kind` of a recipe.

To add a kind, write a recipe class and a `TrainingJob`, and add them to `JOBS`.
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
    from paraphrastic_hf.training.engine.loop import Evaluation, Objective


class Recipe(Protocol):
    """Keys that all kinds of recipes have. `load_recipe` reads a recipe from a file."""

    @property
    def kind(self) -> str:
        """Kind of training, a key of `JOBS`."""

    @property
    def training(self) -> OptimizationArguments:
        """Objective and optimization."""

    @property
    def run(self) -> RunArguments:
        """Checkpoints, logs and model selection."""

    @property
    def seed(self) -> int:
        """Random seed."""


class TrainingJob(Protocol):
    """The part of a run that depends on its kind. `run.train` calls the methods in this order.

    The constructor checks the recipe, so that errors are found before the output folder changes.
    """

    def __init__(self, recipe: Any, context: Context) -> None: ...

    def prepare(self, work: Path) -> None:
        """Write the tokenizer and the tokenized text to the folder `work`.

        The subfolder `corpus` is written last. If it already exists, this method is not called.
        Otherwise only the first process calls it.
        """

    def build(self, work: Path) -> ParaphrasticModel:
        """Return the initial model. The random seed is already set."""

    def objective(self, model: Any, accelerator: Accelerator) -> Objective:
        """Return the training objective."""

    def development(self) -> Callable[[Any], Evaluation] | None:
        """Return a function that computes a model's development score. Higher is better.

        None without a development set. The run then keeps the last weights.
        """

    def save(self, model: Any, output: Path) -> dict[str, Any]:
        """Write the finished model to `output`. Return its results for `run.json`."""


@dataclass(frozen=True)
class Context:
    """Arguments of `train` for a `TrainingJob`."""

    data_root: str | Path | None = None
    datasets: Iterable[Any] = ()
    progress: bool = False


@dataclass(frozen=True)
class JobEntry:
    """Recipe class and `TrainingJob` of one kind of training."""

    recipe: type
    implementation: str  # `module:class` of the `TrainingJob`
    examples: str  # plural name of the training examples

    def load(self) -> type[TrainingJob]:
        """Import the `TrainingJob`, and with it torch."""
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
    """Read a recipe file of any kind and apply command-line overrides.

    Args:
        path: YAML file, or name of a packaged recipe, such as `own` or
            `simple-and-effective-2019/own`. Without `kind`, a recipe with a `task` is supervised
            and any other contrastive.
        overrides: Command-line arguments, such as `["--margin", "0.5"]`. `--start` replaces the
            tokenizer and the encoder of the file.

    Returns:
        An instance of the kind's recipe class.

    Raises:
        RecipeError: The file is missing or malformed, or a kind, key or value is invalid.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        ...     _ = file.write("data: {sources: [pairs.tsv]}"), file.flush()
        ...     load_recipe(file.name, ["--margin", "0.5"]).training.margin
        0.5
    """
    mapping, settings = read_mapping(find_recipe(path)), parse_overrides(overrides)
    mapping |= {key: value for key, value in settings if key == "kind"}
    recipe_class = class_of(mapping)
    if any(key == "start" for key, _ in settings):
        _make_room_for_start(mapping, recipe_class)
    for key, value in settings:
        set_key(recipe_class, mapping, key, value)
    return build(recipe_class, mapping)


def load_contrastive(path: str | Path, overrides: Sequence[str] = ()) -> ContrastiveRecipe:
    """Read a recipe like `load_recipe`. Raise an error if it is not contrastive."""
    recipe = load_recipe(path, overrides)
    if not isinstance(recipe, ContrastiveRecipe):
        raise RecipeError(f"{path} has kind {recipe.kind}. Use a recipe of kind contrastive")
    return recipe


def _make_room_for_start(mapping: dict[str, Any], recipe_class: type) -> None:
    """Remove the sections that `--start` replaces: tokenizer, and model except its dropouts.

    A paraphrase generator also keeps its kind and the part of a parse that it reads.
    """
    kept: tuple[str, ...] = ("embedding_dropout", "word_dropout")
    if recipe_class is ParaphraseRecipe:
        kept = ("kind", "template", "dropout")
    mapping.pop("tokenizer", None)
    model = mapping.pop("model", None)
    if isinstance(model, dict):
        mapping["model"] = {key: model[key] for key in kept if key in model}


def class_of(mapping: dict[str, Any]) -> type:
    kind = kind_of(mapping)
    if kind == CORPUS:
        raise RecipeError("Cannot train a recipe of kind corpus. Use `paraphrastic corpus make`")
    if not isinstance(kind, str) or kind not in JOBS:
        raise RecipeError(
            f"kind must be one of {', '.join(JOBS)}, got {kind!r}. The kinds of tokenizer and "
            "encoder are --tokenizer.kind and --model.kind."
        )
    return JOBS[kind].recipe
