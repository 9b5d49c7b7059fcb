from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraphrastic_hf.config.recipe import read_mapping
from paraphrastic_hf.errors import ModelError, in_a_line
from paraphrastic_hf.io.files import GENERATION_CONFIG, STATIC_EMBEDDING, read_json
from paraphrastic_hf.io.remote_code import PACKAGE

PICTURE = "training.png"  # training curve


@dataclass(frozen=True)
class TrainedModel:
    """Records of a finished run: model directory, `recipe.yaml`, `run.json` and configuration."""

    directory: Path
    recipe: Mapping[str, Any]
    run: Mapping[str, Any]
    config: Mapping[str, Any]

    @classmethod
    def read(cls, directory: str | Path, *, run: Mapping[str, Any] | None = None) -> TrainedModel:
        """Read the folder of a finished run. `run` is the training record, if `run.json` is not yet
        written.
        """
        directory = Path(directory)
        try:
            if run is None:
                run = read_json(directory / "run.json")
            recipe = read_mapping(directory / "recipe.yaml")
            from transformers import AutoConfig

            config = AutoConfig.from_pretrained(directory, trust_remote_code=False).to_dict()
        except (OSError, ValueError) as error:
            raise ModelError(
                f"{directory} has no finished run of `paraphrastic train`: {in_a_line(error)}"
            ) from error
        return cls(directory, recipe, run, config)

    @property
    def name(self) -> str:
        return self.directory.resolve().name

    @property
    def task(self) -> str | None:
        """Task of a supervised model, such as `tagging`. None for other kinds of model."""
        return self.run.get("task")

    @property
    def is_encoder(self) -> bool:
        return (self.directory / "modules.json").exists()

    @property
    def generates(self) -> bool:
        """Whether the model only generates text."""
        return (self.directory / GENERATION_CONFIG).exists() and not self.is_encoder

    @property
    def translates(self) -> bool:
        """Whether the model generates translations or paraphrases of its input."""
        return self.generates and bool(self.config.get("is_encoder_decoder"))

    @property
    def paraphrases(self) -> bool:
        """Whether the model generates paraphrases, or parses of paraphrases."""
        return self.generates and self.recipe.get("kind") == "paraphrase"

    @property
    def is_stock(self) -> bool:
        """Whether sentence-transformers loads the model without this package."""
        path = self.directory / "modules.json"
        return path.exists() and STATIC_EMBEDDING in path.read_text(encoding="utf-8")

    @property
    def encoder(self) -> Mapping[str, Any]:
        return self.config["encoder"] if self.task else self.config

    @property
    def starts(self) -> list[str]:
        """Encoders and vectors from which the recipe initializes the model."""
        encoders = [self.recipe, *(self.recipe.get("parts") or ())]
        vectors = [(encoder.get("model") or {}).get("vectors") for encoder in encoders]
        return [str(name) for name in (self.recipe.get("start"), *vectors) if name]

    @property
    def teachers(self) -> list[str]:
        return [str(teacher["model"]) for teacher in self.recipe.get("teachers") or ()]

    @property
    def bases(self) -> list[str]:
        """Hub repositories of the models that training started from, and of the teachers."""
        names = [str(self.recipe.get("start") or ""), *self.teachers]
        return [
            name
            for name in names
            if name.count("/") == 1
            and not name.startswith((".", "/", "runs/"))
            and not Path(name).exists()
        ]

    @property
    def merges(self) -> list[str]:
        """Runs whose token tables were averaged with the table of this run."""
        return [str(name) for name in (self.recipe.get("finish") or {}).get("merge_with") or ()]

    @property
    def counts(self) -> tuple[str, Mapping[str, int]] | None:
        """Unit of counts, `pairs` or `sentences`, and the count of each source. None if unknown."""
        for what in ("pairs", "sentences"):
            if f"{what}_by_source" in self.run:
                return what, self.run[f"{what}_by_source"]
        return None

    @property
    def sources(self) -> list[dict[str, Any]]:
        return [dict(source) for source in (self.recipe.get("data") or {}).get("sources") or []]

    @property
    def languages(self) -> list[str]:
        """Languages in the recipe: those to learn in distillation, else those of the sources.

        Languages whose tokens were dropped at the end of training are omitted. Default languages do
        not count.
        """
        data = self.recipe.get("data", {})
        if data.get("languages"):
            return sorted(map(str, data["languages"]))
        sources = data.get("sources") or []
        named = {language for source in sources for language in source.get("languages") or ()}
        if (self.recipe.get("finish") or {}).get("drop_apart"):
            named -= set(self.recipe["tokenizer"].get("apart") or ())
        return sorted(name for name in named if name.isalpha() and name.islower() and len(name) < 4)


def dataset_title(dataset: Mapping[str, Any]) -> str:
    """Return the name of a corpus in a recipe, as shown during training."""
    return " ".join(filter(None, (dataset["name"], dataset.get("config"))))


def own_module(config: Mapping[str, Any]) -> str | None:
    """Return the module of an encoder added by `register_encoder`. None if built in."""
    from paraphrastic_hf.models.families import families_by_type

    module = getattr(families_by_type().get(config["model_type"]), "__module__", PACKAGE)
    return None if module.partition(".")[0] in (PACKAGE, "__main__") else module


def model_class(config: Mapping[str, Any]) -> type | None:
    from transformers import CONFIG_MAPPING

    from paraphrastic_hf.encoders.storage.directory import LAYOUTS

    if config["model_type"] not in CONFIG_MAPPING:
        return None
    config_class = CONFIG_MAPPING[config["model_type"]]
    mappings = (layout.auto_class._model_mapping for layout in LAYOUTS)
    return next((mapping[config_class] for mapping in mappings if config_class in mapping), None)
