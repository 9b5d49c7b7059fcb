"""Translation engines by the names used in recipes, and the engine for torch models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions, Translate
from paraphrastic_hf.pipelines.engines.base import Engine
from paraphrastic_hf.pipelines.recipe import EngineArguments, split_command


def writing_of(engine: EngineArguments, seed: int = 0) -> GenerationOptions:
    known = {field.name for field in fields(GenerationOptions)} & set(vars(engine))
    return GenerationOptions(seed=seed, **{name: getattr(engine, name) for name in known})


@dataclass(frozen=True)
class ModelEngine:
    write: Translate
    writing: GenerationOptions

    def translate(self, lines: Sequence[str], *, before: int = 0) -> list[list[GeneratedText]]:
        return self.write(list(lines), self.writing.after(before))


def make_engine(engine: EngineArguments, *, seed: int = 0, work: Path | None = None) -> Engine:
    """Load the engine of a recipe.

    Args:
        engine: Section `engine` of the recipe. Its `model` is a directory, a Hub repository or a
            pair of languages.
        work: Folder for a model converted to CTranslate2 (default: beside a local model).
    """
    return ENGINES[engine.kind](engine, writing_of(engine, seed), work)


def _model_engine(engine: EngineArguments, writing: GenerationOptions, work: Path | None) -> Engine:
    import torch

    from paraphrastic_hf.generation.any_translator import load_translator

    torch.set_num_threads(engine.threads)
    write = load_translator(
        str(engine.model),
        source=engine.source,
        to=engine.to,
        prefix=engine.prefix,
        batch_size=engine.batch_size,
    )
    return ModelEngine(write, writing)


def _ctranslate2_engine(
    engine: EngineArguments, writing: GenerationOptions, work: Path | None
) -> Engine:
    from paraphrastic_hf.pipelines.engines.ctranslate import CTranslate2Engine

    return CTranslate2Engine.from_pretrained(
        str(engine.model),
        writing,
        work=work,
        source=engine.source,
        to=engine.to,
        prefix=engine.prefix,
        precision=engine.precision,
        batch_tokens=engine.batch_tokens,
        threads=engine.threads,
        timeout=engine.timeout,
    )


def _program_engine(
    engine: EngineArguments, writing: GenerationOptions, work: Path | None
) -> Engine:
    from paraphrastic_hf.pipelines.engines.commands import Apertium, CommandEngine

    if engine.kind == "apertium":
        return Apertium(str(engine.model), timeout=engine.timeout)
    return CommandEngine(split_command(str(engine.model)), timeout=engine.timeout)


ENGINES: dict[str, Callable[[EngineArguments, GenerationOptions, Path | None], Engine]] = {
    "ctranslate2": _ctranslate2_engine,
    "transformers": _model_engine,
    "apertium": _program_engine,
    "command": _program_engine,
}
