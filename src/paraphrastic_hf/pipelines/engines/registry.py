"""Translation engines by the names used in recipes, and the engine for torch models."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from paraphrastic_hf.generation.writing import GeneratedText, GenerationOptions, Translate
from paraphrastic_hf.pipelines.engines.base import Engine
from paraphrastic_hf.pipelines.recipe import PROGRAMS, EngineArguments, split_command


@dataclass(frozen=True)
class ModelEngine:
    write: Translate
    writing: GenerationOptions

    def translate(self, lines: Sequence[str], *, before: int = 0) -> list[list[GeneratedText]]:
        return self.write(list(lines), self.writing.after(before))


def make_engine(engine: EngineArguments, *, seed: int = 0, work: Path | None = None) -> Engine:
    """Load the engine of a recipe. `work` is the folder for a converted model."""
    model = str(engine.model)
    if engine.kind in PROGRAMS:
        from paraphrastic_hf.pipelines.engines.commands import Apertium, CommandEngine

        if engine.kind == "apertium":
            return Apertium(model, timeout=engine.timeout)
        return CommandEngine(split_command(model), timeout=engine.timeout)
    known = {field.name for field in fields(GenerationOptions)} & set(vars(engine))
    writing = GenerationOptions(seed=seed, **{name: getattr(engine, name) for name in known})
    how: dict[str, Any] = {"source": engine.source, "to": engine.to, "prefix": engine.prefix}
    if engine.kind == "transformers":
        import torch

        from paraphrastic_hf.generation.any_translator import load_translator

        torch.set_num_threads(engine.threads)
        write = load_translator(model, **how, batch_size=engine.batch_size)
        return ModelEngine(write, writing)
    from paraphrastic_hf.pipelines.engines.ctranslate import CTranslate2Engine

    return CTranslate2Engine(
        model,
        writing,
        work=work,
        **how,
        precision=engine.precision,
        batch_tokens=engine.batch_tokens,
        threads=engine.threads,
        timeout=engine.timeout,
    )
