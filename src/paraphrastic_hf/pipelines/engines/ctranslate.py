"""CTranslate2 engine: runs converted Marian, M2M100, NLLB, mBART, T5 and other models.

Of this package's translators it converts the kind `marian`.
"""

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

FIX = "Use engine.kind transformers, which takes any encoder-decoder"
MAX_TOKENS_READ = 1024  # maximum length of a line if the model has no limit


class CTranslate2Engine:
    """Translation model in CTranslate2, converted in `work`, or else beside a local model, with its
    own tokenizer. `timeout` is in seconds per call.
    """

    def __init__(
        self,
        name: str | os.PathLike[str],
        writing: GenerationOptions,
        *,
        work: Path | None,
        source: str | None,
        to: str | None,
        prefix: str,
        precision: str,
        threads: int,
        batch_tokens: int,
        timeout: float,
    ) -> None:
        directory = converted(name, work=work, advice=FIX, precision=precision)
        import ctranslate2
        from transformers import AutoConfig

        path = local_directory(name)
        self.tokenizer = load_stock_tokenizer(path)
        with loading(path):
            config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        to = told_language(self.tokenizer, to, written_language(path))
        self.languages = Languages.of(self.tokenizer, source, to)
        self.most_tokens = getattr(config, "max_position_embeddings", None) or MAX_TOKENS_READ
        self.model: Any = ctranslate2.Translator(
            str(directory),
            device="auto",
            compute_type="auto" if precision == "int8" else precision,
            inter_threads=1,
            intra_threads=threads,
        )
        self.writing, self.prefix = writing, prefix
        self.batch_tokens, self.timeout = batch_tokens, timeout

    def translate(self, lines: Sequence[str], *, before: int = 0) -> list[list[GeneratedText]]:
        ids = source_ids(self.tokenizer, lines, self.languages, self.prefix, self.most_tokens)
        tokens = [self.tokenizer.convert_ids_to_tokens(each) for each in ids]
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
            # the search may return fewer translations than requested
            found[place] += [NOTHING] * (self.writing.outputs - len(found[place]))
        return found

    def _nats(self, hypothesis: Sequence[str], score: float) -> float:
        """Convert CTranslate2's score, sum / length ** penalty, to the mean log-probability."""
        length = min(len(hypothesis) + 1, self._most_written())
        return score * length ** (self.writing.length_penalty - 1)  # type: ignore[no-any-return]

    def _most_written(self) -> int:
        """Return the maximum length of a translation in tokens, with the end token."""
        return min(self.writing.max_tokens, self.most_tokens - 1)

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
            min_decoding_length=0,  # as in transformers, to get the same scores
            max_decoding_length=self._most_written(),
            return_scores=True,
            **options,
        )
        until = time.monotonic() + self.timeout
        for each in pending:
            while not each.done():
                if time.monotonic() > until:
                    raise EngineError(
                        f"CTranslate2 did not translate {counted(len(tokens), 'line')} in "
                        f"{self.timeout:g} s. Raise engine.timeout or lower make.block"
                    )
                time.sleep(0.002)
        return [each.result() for each in pending]

    def _text(self, tokens: list[str]) -> str:
        ids = self.tokenizer.convert_tokens_to_ids(tokens)
        text: str = self.tokenizer.decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text.strip()
