"""CTranslate2 as an engine: models of transformers, converted, in int8 several times as fast.

A model is converted once by CTranslate2's own converter, which takes Marian, M2M100, NLLB, mBART,
Pegasus, T5 and others; of this package's translators those of kind marian.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paraphrastic_hf.encoders.languages import written_language
from paraphrastic_hf.encoders.storage.bounded import loading
from paraphrastic_hf.encoders.storage.ctranslate import converted
from paraphrastic_hf.encoders.storage.locate import local_directory
from paraphrastic_hf.errors import counted
from paraphrastic_hf.generation.languages import Languages, source_ids, told_language
from paraphrastic_hf.generation.loading import load_stock_tokenizer
from paraphrastic_hf.generation.writing import NOTHING, GeneratedText, GenerationOptions
from paraphrastic_hf.pipelines.engines.base import EngineError

WAY_OUT = "use engine.kind transformers, which takes any encoder-decoder"
MOST_TOKENS_READ = 1024  # of a line, where the model does not say


class CTranslate2Engine:
    """A translation model as CTranslate2 runs it.

    Args:
        model: A `ctranslate2.Translator`.
        tokenizer: The tokenizer of the model it was converted from, as `AutoTokenizer` loads it.
        source: The language of the lines, for tokenizers that must be told (NLLB, M2M100).
        most_tokens: A line of more tokens is cut there; at least 1.
        batch_tokens: Most tokens that are translated at a time, at least 1.
        timeout: Seconds after which a call is given up as hanging, above 0.

    Example:
        >>> engine = CTranslate2Engine.from_pretrained("runs/de-en", GenerationOptions(beams=12))
        ... # doctest: +SKIP
        >>> engine.translate(["ein Hund läuft"])[0][0].text  # doctest: +SKIP
        'a dog runs'
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        writing: GenerationOptions,
        *,
        source: str | None = None,
        to: str | None = None,
        prefix: str = "",
        most_tokens: int = MOST_TOKENS_READ,
        batch_tokens: int = 1024,
        timeout: float = 600.0,
    ) -> None:
        self.model, self.tokenizer, self.writing = model, tokenizer, writing
        self.languages = Languages.of(tokenizer, source, to)
        self.prefix, self.most_tokens = prefix, most_tokens
        self.batch_tokens, self.timeout = batch_tokens, timeout

    @classmethod
    def from_pretrained(
        cls,
        name: str | os.PathLike[str],
        writing: GenerationOptions,
        *,
        work: Path | None = None,
        precision: str = "int8",
        threads: int = 1,
        **options: Any,
    ) -> CTranslate2Engine:
        """Load a model, which is converted first if need be.

        Args:
            work: Where what is converted goes; beside a local model if None.
            threads: Threads that translate one batch, at least 1.
        """
        directory = converted(name, work=work, advice=WAY_OUT, precision=precision)
        import ctranslate2
        from transformers import AutoConfig

        path = local_directory(name)
        tokenizer = load_stock_tokenizer(path)
        with loading(path):
            config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        options["to"] = told_language(tokenizer, options.get("to"), written_language(path))
        most = getattr(config, "max_position_embeddings", None) or MOST_TOKENS_READ
        model = ctranslate2.Translator(
            str(directory),
            device="auto",
            compute_type="auto" if precision == "int8" else precision,
            inter_threads=1,
            intra_threads=threads,
        )
        return cls(model, tokenizer, writing, most_tokens=most, **options)

    def translate(self, lines: Sequence[str], *, before: int = 0) -> list[list[GeneratedText]]:
        """Translate lines; see `Engine`."""
        tokens = self._tokens(lines)
        places = [place for place, line in enumerate(tokens) if line]
        found = [[NOTHING] * self.writing.outputs for _ in lines]
        if not places:
            return found
        results = self._results([tokens[place] for place in places], self.writing.after(before))
        for place, result in zip(places, results, strict=True):
            found[place] = [
                GeneratedText(self._text(hypothesis), self._nats(hypothesis, score))
                for hypothesis, score in zip(result.hypotheses, result.scores, strict=True)
            ]
            # a search may end with fewer: an n-best list is as long as it was asked for
            found[place] += [NOTHING] * (self.writing.outputs - len(found[place]))
        return found

    def _nats(self, hypothesis: Sequence[str], score: float) -> float:
        """The mean over the tokens, the end among them, of a score that CTranslate2 divides by
        their number to the power of the length penalty."""
        most = self._most_written()
        length = min(len(hypothesis) + 1, most)
        return score * length ** (self.writing.length_penalty - 1)  # type: ignore[no-any-return]

    def _most_written(self) -> int:
        """Most tokens of a translation, its end among them."""
        return min(self.writing.max_tokens, self.most_tokens - 1)

    def _tokens(self, lines: Sequence[str]) -> list[list[str]]:
        """What the model reads of each line; nothing where the line says nothing."""
        ids = source_ids(self.tokenizer, lines, self.languages, self.prefix, self.most_tokens)
        return [self.tokenizer.convert_ids_to_tokens(each) for each in ids]

    def _results(self, tokens: list[list[str]], how: GenerationOptions) -> list[Any]:
        import ctranslate2

        options: dict[str, Any] = {"beam_size": how.beams, "sampling_topk": 1}
        if how.sample:
            ctranslate2.set_random_seed(how.seed)
            options = {
                "beam_size": 1,
                "sampling_topk": 0,
                "sampling_topp": how.top_p,
                "sampling_temperature": how.temperature,
            }
        forced = self.languages.forced
        begin = None if forced is None else self.tokenizer.convert_ids_to_tokens([forced])
        pending = self.model.translate_batch(
            tokens,
            target_prefix=None if begin is None else [begin] * len(tokens),
            max_batch_size=self.batch_tokens,
            batch_type="tokens",
            asynchronous=True,
            num_hypotheses=how.outputs,
            length_penalty=how.length_penalty,
            max_input_length=0,
            min_decoding_length=0,  # as transformers, whose scores these are
            max_decoding_length=self._most_written(),
            return_scores=True,
            **options,
        )
        until = time.monotonic() + self.timeout
        for each in pending:
            while not each.done():
                if time.monotonic() > until:
                    raise EngineError(
                        f"CTranslate2 gave no answer in {self.timeout:g} s for "
                        f"{counted(len(tokens), 'line')}; raise engine.timeout, or lower make.block"
                    )
                time.sleep(0.002)
        return [each.result() for each in pending]

    def _text(self, tokens: list[str]) -> str:
        ids = self.tokenizer.convert_tokens_to_ids(tokens)
        text: str = self.tokenizer.decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text.strip()
