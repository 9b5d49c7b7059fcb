"""Training job of a generative model of sentence pairs (thesis, 5.4)."""

import logging
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator

from paraphrastic_hf.encoders.storage.directory import GENERATIVE, save_model
from paraphrastic_hf.errors import DataError, RecipeError
from paraphrastic_hf.generation.gauges import (
    LatentDiagnostics,
    has_likelihood,
    importance_weighted_nll,
    measure,
)
from paraphrastic_hf.generation.latent import LatentGenerator, center_on_texts
from paraphrastic_hf.models.generative.bgt import BGTModel
from paraphrastic_hf.models.generative.latent import LatentModel
from paraphrastic_hf.models.generative.latent_parts import SEMANTIC, LatentConfig
from paraphrastic_hf.models.generative.mgt import MGTModel
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.data.bitexts import Bitexts
from paraphrastic_hf.training.data.corpus import build_corpus, hold_out_pairs, load_corpus
from paraphrastic_hf.training.data.declared_languages import warn_of_languages
from paraphrastic_hf.training.data.development import development_scorer, read_development
from paraphrastic_hf.training.data.held_out import hold_out, read_held_out, write_held_out
from paraphrastic_hf.training.data.sources import (
    SourcePairs,
    read_sources,
    sides_of,
)
from paraphrastic_hf.training.data.tokenizers import train_tokenizer
from paraphrastic_hf.training.encoder.start import resolve_vectors, start_from_vectors
from paraphrastic_hf.training.engine.loop import Evaluation
from paraphrastic_hf.training.engine.paths import resolve_model
from paraphrastic_hf.training.engine.recipe import HELD_OUT
from paraphrastic_hf.training.generative.objective import GenerativeObjective
from paraphrastic_hf.training.generative.recipe import GenerativeRecipe
from paraphrastic_hf.training.kinds import Context
from paraphrastic_hf.training.seq2seq.job import with_config

logger = logging.getLogger(__name__)

MEASURED = 500  # held-out pairs measured at every evaluation
WEIGHTED = 100  # held-out pairs whose likelihood is estimated by importance sampling at the end
SMALL_KL = 0.1  # nats per sentence, below which a posterior has collapsed
MODELS: dict[str, type[LatentModel]] = {"bgt": BGTModel, "mgt": MGTModel}


class Generative:
    def __init__(self, recipe: GenerativeRecipe, context: Context) -> None:
        self.recipe, self.context = recipe, context
        self.pairs = None
        self.holds_out = recipe.run.development == "clean-and-bitext"
        if recipe.run.development != HELD_OUT:
            self.pairs = read_development(recipe.run.development, context.data_root)
        if recipe.model.vectors is not None:
            resolve_vectors(recipe.model.vectors, context.data_root)
        given = {language for s in recipe.data.sources for language in s.languages or ()}
        self.start: LatentGenerator | None = None
        if recipe.start is not None:
            place = resolve_model(recipe.start, context.data_root)
            self.start = LatentGenerator.from_pretrained(place, device="cpu")
            _check_start(self.start.model, recipe, given)
            return
        if len(given) >= 2:  # check the settings before any text is read
            self._config(sorted(given), recipe.tokenizer.vocab_size, 0)

    def prepare(self, work: Path) -> None:
        recipe, context = self.recipe, self.context
        sources = read_sources(
            recipe, context.data_root, context.datasets, progress=context.progress
        )
        found = _check_languages(sources)
        if self.holds_out:
            sources, to_find = hold_out(sources)
            write_held_out(to_find, work)
        warn_of_languages(sources, recipe.seed)
        if self.start is None:
            self._config(sorted(found), recipe.tokenizer.vocab_size, 0)
            tokenizer = train_tokenizer(
                recipe.tokenizer, sides_of(sources), recipe.seed, context.data_root
            )
        else:
            _check_start(self.start.model, recipe, found)
            tokenizer = self.start.tokenizer
        tokenizer.save(work / "tokenizer")
        build_corpus(sources, tokenizer, work / "corpus", progress=context.progress)

    def build(self, work: Path) -> LatentModel:
        self.tokenizer = load_tokenizer(work / "tokenizer")
        self.corpus = load_corpus(work / "corpus")
        self.to_find = read_held_out(work) if self.holds_out else {}
        own = [] if self.start is None else list(self.start.model.config.languages)
        languages = own + [code for code in self.corpus.languages if code not in own]
        bitexts = Bitexts.of(self.corpus, languages)
        chosen, kept = hold_out_pairs(
            self.corpus.group[bitexts.sides], self.recipe.data.held_out, self.recipe.seed
        )
        self.held_out, self.kept = bitexts.select(chosen), bitexts.select(kept)
        lost = bitexts.codes() - self.kept.codes()
        if lost:
            raise DataError(
                f"data.held_out leaves no pairs in {', '.join(sorted(lost))}. Lower it or add pairs"
            )
        if self.start is not None:
            started = self.start.model
            started.scores_part = self.recipe.training.candidates is not None
            for code in languages[len(own) :]:
                logger.info("Adding the language %s to the model", code)
                started.add_language(code)
            if self.recipe.training.center:  # so that checkpoints of this run can be loaded
                started.center_on(torch.zeros(started.config.hidden_size))
            return started
        config = self._config(languages, self.tokenizer.vocab_size, self.tokenizer.special.end[0])
        model: LatentModel = MODELS[self.recipe.model.kind](config)
        model.scores_part = self.recipe.training.candidates is not None
        if self.recipe.model.vectors is not None:
            path = resolve_vectors(self.recipe.model.vectors, self.context.data_root)
            if self.recipe.model.adds_average:  # SP averages no end token
                with torch.no_grad():
                    model.get_input_embeddings().weight[config.eos_token_id] = 0.0
            start_from_vectors(model, self.tokenizer, path)
        return model

    def objective(self, model: LatentModel, accelerator: Accelerator) -> GenerativeObjective:
        given = (self.recipe, self.corpus, self.kept, model, accelerator)
        self._objective = GenerativeObjective(*given)
        return self._objective

    def development(self) -> Callable[[Any], Evaluation] | None:
        """Return a function that computes the development score and held-out diagnostics."""
        if self.recipe.run.development == "none":
            return None
        scorer = development_scorer(
            self.recipe.run.development, self.tokenizer, self.pairs, self.to_find
        )
        if scorer is None and not len(self.held_out):
            return None

        def score(model: LatentModel) -> Evaluation:
            self._center(model)
            gauges = self._measure(model, MEASURED)
            if gauges is None:
                assert scorer is not None
                return scorer(model)
            if model.training:  # not before or after training
                _warn_of_collapse(gauges)
                self._objective.aggression.observe(sum(gauges.mutual_information.values()))
            figures = gauges.flat()
            if self.recipe.training.aggressive:
                figures["aggressive"] = float(self._objective.aggression.is_on)
            if scorer is None:
                return Evaluation(gauges.likelihood, figures)
            found = scorer(model)
            return Evaluation(found, figures, found.parts)

        return score

    def save(self, model: LatentModel, output: Path) -> dict[str, Any]:
        self._center(model)
        gauges = self._measure(model, len(self.held_out))
        to_find = {name: len(pairs) for name, pairs in self.to_find.items()}
        record: dict[str, Any] = {
            "development": self.recipe.run.development,
            "pairs": len(self.kept),
            "held_out_pairs": len(self.held_out),
            **({"pairs_held_out": to_find} if to_find else {}),
            "parameters": model.num_parameters(),
            "vocab_size": self.tokenizer.vocab_size,
        }
        if gauges is not None:
            if self.recipe.run.development == "none":  # else the last evaluation warned
                _warn_of_collapse(gauges)
            record["held_out"] = asdict(gauges)
        if gauges is not None and has_likelihood(model):
            nll = importance_weighted_nll(model, *self._first_held_out(WEIGHTED))
            record["held_out"]["importance_weighted_nll"] = nll
        save_model(model.to("cpu"), self.tokenizer, output, GENERATIVE)
        return record

    def _center(self, model: LatentModel) -> None:
        most = self.recipe.training.center
        if not most:
            return
        sides = np.unique(self.kept.sides)
        chosen = np.random.default_rng(self.recipe.seed).permutation(sides)[:most]
        center_on_texts(model, self.corpus.sentences, chosen, self.recipe.data.max_length)

    def _measure(self, model: LatentModel, most: int) -> LatentDiagnostics | None:
        if not len(self.held_out):
            return None
        return measure(model, *self._first_held_out(most))

    def _first_held_out(self, most: int) -> tuple[Ragged, Any, int]:
        few = self.held_out.select(np.arange(min(most, len(self.held_out))))
        return self.corpus.sentences, few.grouped(), self.recipe.data.max_length

    def _config(self, languages: list[str], vocab_size: int, end: int) -> LatentConfig:
        given = self.recipe.model
        settings: dict[str, Any] = {
            "vocab_size": vocab_size,
            "languages": languages,
            "hidden_size": given.hidden_size,
            "encoder_kind": given.encoder,
            "decoder_kind": given.decoder,
            "decoder_layers": given.decoder_layers,
            "dropout": given.dropout,
            "is_variational": given.variational,
            "adds_average": given.adds_average,
            "is_centered": self.recipe.training.center > 0,
            "has_language_variables": given.language_variables,
            "eos_token_id": end,
            "decoder_start_token_id": end,
            "use_cache": given.decoder == "transformer",
        }
        optional = {  # None means the default of the model
            "state_size": given.state_size,
            "encoder_layers": given.encoder_layers,
            "num_attention_heads": given.heads,
            "intermediate_size": given.feed_forward,
            "latent_at": given.latent_at,
        }
        settings |= {key: value for key, value in optional.items() if value is not None}
        if given.kind == "mgt":
            settings["reconstructs"] = given.reconstructs is None
            settings["has_translation_scorer"] = given.translation_scorer
        else:
            for key in ("reconstructs", "translates"):
                value = getattr(given, key)
                settings[key] = languages if value is None else value
        return with_config(MODELS[given.kind], **settings)[1]


def _check_start(model: LatentModel, recipe: GenerativeRecipe, languages: set[str]) -> None:
    """Raise an error for settings and languages that the model in `start` does not support."""
    config, training = model.config, recipe.training
    what = f"The model given as start ({recipe.start})"
    new = sorted(languages - set(config.languages))
    if new and not isinstance(model, MGTModel):
        raise RecipeError(
            f"{what} is a bgt of {', '.join(config.languages)}, and cannot add {', '.join(new)}. "
            "Start from an mgt, or remove some of data.sources"
        )
    if config.is_centered and not training.center:
        raise RecipeError(f"{what} subtracts a mean. Set training.center, such as 10000")
    name = "aggressive" if training.aggressive else "kl_weight"
    asked = training.aggressive or training.kl_weight not in (0.0, 1.0)
    if asked and not config.is_variational:
        raise RecipeError(f"{what} has no prior, but training.{name} requires one. Remove it")
    codes = list(config.languages)[:2]
    tasks = model.tasks_between(codes)
    read = {side for task in tasks for side in model.sides_read(task, SEMANTIC, codes)}
    if recipe.needs_both_sides and len(read) < 2:
        raise RecipeError(
            f"{what} encodes only one sentence of a pair, but {recipe.needs_both_sides} requires "
            "both. Remove this setting"
        )


def _check_languages(sources: list[SourcePairs]) -> set[str]:
    """Return the languages of the sources. Raise an error for a source in one language."""
    found: set[str] = set()
    for item in sources:
        own = item.source.languages or ()
        if len(set(own)) != 2:
            raise DataError(
                f"{item.source.name} must have two languages, got {', '.join(own)}. Name them: "
                "--sources '{path: FILE, languages: [en, fr]}'"
            )
        found |= set(own)
    return found


def _warn_of_collapse(gauges: LatentDiagnostics) -> None:
    for variable, kl in gauges.kl.items():
        if kl < SMALL_KL:
            logger.warning(
                "Posterior collapse: the variable %s has a KL divergence of %.3f nats per "
                "sentence and %d active units. Lower training.kl_weight, or raise "
                "training.kl_rise",
                variable,
                kl,
                gauges.active_units[variable],
            )
