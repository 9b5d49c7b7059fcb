"""The translation engines by the names that a recipe calls them; here also those that compute in
torch. `ctranslate.py` and `commands.py` have the others, `engine.py` what all of them answer to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from paraphrastic_hf.corpus.arguments import EngineArguments
from paraphrastic_hf.corpus.engine import Engine
from paraphrastic_hf.generation.writing import Writing, Written


def writing_of(engine: EngineArguments, seed: int = 0) -> Writing:
    """How an engine searches or samples, as the recipe says it.

    Args:
        engine: Its part of the recipe.
        seed: Number that every draw follows from.
    """
    return Writing(
        beams=engine.beams,
        sample=engine.sample,
        top_p=engine.top_p,
        temperature=engine.temperature,
        count=engine.outputs,
        max_tokens=engine.max_tokens,
        seed=seed,
        length_penalty=engine.length_penalty,
    )


class TorchEngine:
    """Any encoder-decoder that `AutoModelForSeq2SeqLM` loads, this package's translators too.

    Args:
        translator: The model with its tokenizer.
        writing: How to search or sample.
    """

    def __init__(self, translator: object, writing: Writing) -> None:
        from paraphrastic_hf.generation.translate import Translator

        assert isinstance(translator, Translator)
        self._translator, self._writing = translator, writing

    def translate(self, lines: Sequence[str]) -> list[list[Written]]:
        """Translate lines; see `Engine`."""
        translator = self._translator
        return translator.write(translator.encode(list(lines)), self._writing)


class LatentEngine:
    """A generative model of sentence pairs: what it writes of a sentence's meaning.

    Args:
        generator: The model with its tokenizer.
        writing: How to search or sample.
        to: The language to write; may be None where the model translates into one alone.
    """

    def __init__(self, generator: object, writing: Writing, to: str | None = None) -> None:
        from paraphrastic_hf.generation.latent import LatentGenerator

        assert isinstance(generator, LatentGenerator)
        self._generator, self._writing, self._to = generator, writing, to

    def translate(self, lines: Sequence[str]) -> list[list[Written]]:
        """Translate lines; see `Engine`."""
        return self._generator.translate(list(lines), to=self._to, writing=self._writing)


def make_engine(engine: EngineArguments, *, seed: int = 0, work: Path | None = None) -> Engine:
    """The engine of a recipe, loaded.

    Args:
        engine: Its part of the recipe; `model` names a directory, a repository or two languages.
        seed: Number that every draw follows from.
        work: Where a model is put that CTranslate2 has to convert; beside the model if None.

    Raises:
        EngineError: A program is not installed.
        ModelError: The model is not there, damaged or of another kind.
        MissingExtraError: A package is not installed.
    """
    return ENGINES[engine.kind](engine, writing_of(engine, seed), work)


def _torch_engine(engine: EngineArguments, writing: Writing, work: Path | None) -> Engine:
    import torch

    from paraphrastic_hf.generation.translate import Translator

    torch.set_num_threads(engine.threads)
    return TorchEngine(
        Translator.from_pretrained(
            str(engine.model),
            source=engine.source,
            to=engine.to,
            prefix=engine.prefix,
            batch_size=engine.batch_size,
        ),
        writing,
    )


def _latent_engine(engine: EngineArguments, writing: Writing, work: Path | None) -> Engine:
    import torch

    from paraphrastic_hf.generation.latent import LatentGenerator

    torch.set_num_threads(engine.threads)
    generator = LatentGenerator.from_pretrained(str(engine.model))
    generator.batch_size = engine.batch_size
    return LatentEngine(generator, writing, engine.to)


def _ctranslate2_engine(engine: EngineArguments, writing: Writing, work: Path | None) -> Engine:
    from paraphrastic_hf.corpus.ctranslate import CTranslate2Engine

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


def _apertium_engine(engine: EngineArguments, writing: Writing, work: Path | None) -> Engine:
    from paraphrastic_hf.corpus.commands import Apertium

    return Apertium(str(engine.model), timeout=engine.timeout)


ENGINES: dict[str, Callable[[EngineArguments, Writing, Path | None], Engine]] = {
    "ctranslate2": _ctranslate2_engine,
    "transformers": _torch_engine,
    "latent": _latent_engine,
    "apertium": _apertium_engine,
}
