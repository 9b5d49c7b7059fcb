"""Training job of minimum risk training, which improves a trained encoder-decoder (thesis, 7.3)."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from tqdm.auto import tqdm

from paraphrastic_hf.config.recipe import names_file
from paraphrastic_hf.encoders.languages import written_language
from paraphrastic_hf.errors import DataError, ModelError, RecipeError, counted
from paraphrastic_hf.generation.languages import is_told
from paraphrastic_hf.generation.search import target_ids
from paraphrastic_hf.generation.translate import Translator
from paraphrastic_hf.io.files import WEIGHTS, open_to_readers, remove
from paraphrastic_hf.io.pairs import Pair
from paraphrastic_hf.metrics.costs import SEMANTIC, make_cost
from paraphrastic_hf.metrics.utilities import CODES_OF_ENGLISH
from paraphrastic_hf.models.base import evaluating
from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.data.corpus import hold_out_pairs, read_columns, write_columns
from paraphrastic_hf.training.data.sources import read_sources, with_development
from paraphrastic_hf.training.engine.loop import Evaluation
from paraphrastic_hf.training.engine.paths import resolve_model
from paraphrastic_hf.training.kinds import Context
from paraphrastic_hf.training.minimum_risk.candidates import CandidateMaker
from paraphrastic_hf.training.minimum_risk.diagnostics import RiskDiagnostics
from paraphrastic_hf.training.minimum_risk.objective import MinimumRiskObjective, Translations
from paraphrastic_hf.training.minimum_risk.recipe import MinimumRiskRecipe
from paraphrastic_hf.training.seq2seq.job import check_written, written_side

logger = logging.getLogger(__name__)

PAIRS_AT_A_TIME = 10_000
ENGLISH = ("simile", "english", "english-window", "tiny")  # packaged models for English only
SIDES = ("sources", "targets", "texts")


class MinimumRisk:
    def __init__(self, recipe: MinimumRiskRecipe, context: Context) -> None:
        self.recipe, self.context = recipe, context = with_development(recipe), context
        if recipe.start is None:
            raise RecipeError(
                "start is missing. Set --start to a translation model: a directory or a Hub "
                "repository that AutoModelForSeq2SeqLM loads"
            )
        check_written(recipe.data.sources, recipe.data.target_language)
        _warn_of_english(recipe)
        self.cost = make_cost(**recipe.cost.__dict__)
        self.translator = _load(recipe, recipe.start, context.data_root)

    def prepare(self, work: Path) -> None:
        recipe, context = self.recipe, self.context
        sources = read_sources(
            recipe, context.data_root, context.datasets, progress=context.progress
        )
        to = recipe.data.target_language
        oriented = [
            item.pairs if written_side(item.source, to) else [(b, a) for a, b in item.pairs]
            for item in sources
        ]
        pairs = [pair for of_source in oriented for pair in of_source]
        given = None
        if names_file(recipe.run.development):
            number = len(recipe.data.sources) - 1
            first = sum(map(len, oriented[:number]))
            given = np.arange(first, first + len(oriented[number]))
        held_out, kept = _hold_out(pairs, recipe.data.held_out, recipe.seed, given)
        columns = {
            f"{name}.{side}": ids
            for name, chosen in (("kept", kept), ("held_out", held_out))
            for side, ids in zip(SIDES, self._tokenized(chosen), strict=True)
        }
        if not len(columns["kept.sources"]):
            raise DataError(
                "No pairs to train on, because both sides must have at most data.max_length "
                f"({recipe.data.max_length}) tokens. Raise data.max_length"
            )
        write_columns(work / "corpus", columns, {})

    def build(self, work: Path) -> Any:
        columns, _ = read_columns(work / "corpus")
        self.kept, self.held_out = (
            Translations(*(columns[f"{name}.{side}"] for side in SIDES))
            for name in ("kept", "held_out")
        )
        first, second = self.kept.lists(np.arange(1))
        _freeze_banned_rows(self.translator.model)
        _freeze_unused(self.translator.model, first, second)
        return self.translator.model

    def objective(self, model: Any, accelerator: Accelerator) -> MinimumRiskObjective:
        maker = CandidateMaker(self.translator, self.recipe.candidates, self.cost)
        self._diagnostics = RiskDiagnostics(self.recipe, self.held_out, maker)
        return MinimumRiskObjective(self.recipe, self.kept, maker, accelerator)

    def development(self) -> Callable[[Any], Evaluation] | None:
        """Return a function that computes minus the held-out cost x 100, and costs to log."""
        chosen = self.recipe.run.development
        chosen = "expected_cost" if names_file(chosen) else chosen
        if chosen == "none" or not len(self.held_out):
            return None

        def score(model: Any) -> Evaluation:
            figures = self._diagnostics.measure()
            return Evaluation(-figures[chosen], figures)

        return score

    def save(self, model: Any, output: Path) -> dict[str, Any]:
        record: dict[str, Any] = {
            "development": self.recipe.run.development,
            "cost": self.cost.signature,
            "pairs": len(self.kept),
            "held_out_pairs": len(self.held_out),
            "parameters": model.num_parameters(),
        }
        if len(self.held_out):
            record["held_out"] = self._diagnostics.measure()
        self.translator.model.to("cpu")
        _save(self.translator, output)
        return record

    def _tokenized(self, pairs: Sequence[Pair]) -> tuple[Ragged, Ragged, Ragged]:
        """Return ids of both sides and reference texts, without pairs that are too long."""
        translator, begin = self.translator, self.translator.begin()
        positions = getattr(translator.model.config, "max_position_embeddings", None)
        most = self.recipe.data.max_length
        if positions is not None:
            most = min(most, positions - len(begin))
        kept: list[tuple[list[int], list[int], bytes]] = []
        starts = range(0, len(pairs), PAIRS_AT_A_TIME)
        for start in tqdm(starts, desc="tokenizing", disable=not self.context.progress):
            part = pairs[start : start + PAIRS_AT_A_TIME]
            first = translator.encode([source for source, _ in part])
            second = target_ids(translator.tokenizer, [target for _, target in part], begin)
            kept += [
                (source, target, text.strip().encode("utf-8"))
                for source, target, (_, text) in zip(first, second, part, strict=True)
                if source and len(target) > 1 and max(len(source), len(target)) <= most
            ]
        if lost := len(pairs) - len(kept):
            logger.warning(
                "Left out %s: a side has no known token, or more than %d tokens",
                counted(lost, "pair"),
                most,
            )
        sources, targets = [pair[0] for pair in kept], [pair[1] for pair in kept]
        texts = [text for _, _, text in kept]
        flat = np.frombuffer(b"".join(texts), np.uint8)
        offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        return Ragged.from_lists(sources), Ragged.from_lists(targets), Ragged(flat, offsets)


def _warn_of_english(recipe: MinimumRiskRecipe) -> None:
    cost, to = recipe.cost, recipe.data.target_language
    if cost.metric in SEMANTIC and cost.model in ENGLISH and to not in CODES_OF_ENGLISH:
        logger.warning(
            "cost.model %s is for English, but the translations are in %s. Set cost.model to "
            "multilingual",
            cost.model,
            to,
        )


def _load(recipe: MinimumRiskRecipe, start: str, data_root: str | Path | None) -> Translator:
    place = resolve_model(start, data_root)
    try:
        translator = Translator.from_pretrained(
            place, device="cpu", source=recipe.from_code, to=recipe.to_code, prefix=recipe.prefix
        )
    except ModelError:
        raise
    except ValueError as error:
        raise RecipeError(f"from_code, to_code: {error}") from error
    written = None if is_told(translator.tokenizer) else written_language(translator._directory)
    if written not in (None, recipe.data.target_language):
        raise RecipeError(
            f"{start} writes {written}, but data.target_language is "
            f"{recipe.data.target_language}. Set data.target_language to {written}, or start from "
            "another model"
        )
    if translator.tokenizer.eos_token_id is None:
        raise ModelError(f"The tokenizer in {start} has no eos_token. Start from another model")
    return translator


def _freeze_banned_rows(model: Any) -> None:
    """Freeze the embeddings of tokens that the model must never write.

    Marian's padding token is one. Its embedding is zero, and CTranslate2 relies on the zeros.
    """
    banned = model.generation_config.bad_words_ids or []
    tokens = sorted({ids[0] for ids in banned if len(ids) == 1})
    layers = (model.get_input_embeddings(), model.get_output_embeddings())
    for weight in {id(layer.weight): layer.weight for layer in layers if layer}.values():
        rows = torch.tensor(tokens, dtype=torch.long, device=weight.device)
        if tokens and weight.requires_grad:
            weight.register_hook(lambda found, rows=rows: found.index_fill(0, rows, 0.0))


def _freeze_unused(
    model: Any, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]
) -> None:
    """Freeze parameters that get no gradient or are not saved, such as sinusoidal positions.

    Otherwise several processes would wait for their gradients at each step.
    """
    with evaluating(model):
        output = model(input_ids=torch.tensor(source), labels=torch.tensor(target))
        output.logits.sum().backward()
    unsaved = set(model._keys_to_ignore_on_save or ())
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(parameter.grad is not None and name not in unsaved)
        parameter.grad = None


def _hold_out(
    pairs: Sequence[Pair], count: int, seed: int, chosen: np.ndarray | None
) -> tuple[list[Pair], list[Pair]]:
    """Return held-out pairs, and training pairs that share no source or target with them."""
    numbers: dict[tuple[int, str], int] = {}
    groups = [
        [numbers.setdefault(side, len(numbers)) for side in enumerate(pair)] for pair in pairs
    ]
    held_out, kept = hold_out_pairs(np.asarray(groups), count, seed, chosen)
    return [pairs[number] for number in held_out], [pairs[number] for number in kept]


def _save(translator: Translator, output: Path) -> None:
    staged = output / "model.part"
    remove(staged)
    staged.mkdir(parents=True)
    try:
        translator.save_pretrained(staged)
        for path in staged.glob("*.safetensors"):
            open_to_readers(path)
        for path in sorted(staged.iterdir(), key=lambda path: path.name == WEIGHTS):
            remove(output / path.name)
            path.replace(output / path.name)
    finally:
        remove(staged)
