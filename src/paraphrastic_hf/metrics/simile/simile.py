"""SimiLE as an `evaluate` metric: the mean of LP(r, h)^0.25 cos(g(r), g(h)) over segments.

`evaluate` copies only this file. The metric itself is in the package `paraphrastic_hf`
(`metrics/scorer.py`), which must be installed.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import evaluate

from paraphrastic_hf.metrics.quality import QualityEstimator
from paraphrastic_hf.metrics.scorer import SimileScorer, checked_segments

_DESCRIPTION = """
SimiLE scores a hypothesis by its meaning: the similarity of the embeddings of hypothesis and
reference (SIM), lowered if their lengths differ. By default it compares windows of five tokens. The
paper compares whole sentences. The default model is 16 MB, runs on the CPU, and comes with the
package paraphrastic_hf.
"""

_CITATION = """\
@inproceedings{wieting-etal-2019-beyond,
    title = "Beyond {BLEU}: Training Neural Machine Translation with Semantic Similarity",
    author = "Wieting, John and Berg-Kirkpatrick, Taylor and Gimpel, Kevin and Neubig, Graham",
    booktitle = "Proceedings of the 57th Annual Meeting of the ACL",
    year = "2019",
}
"""

_INPUTS = """
Args:
    predictions: texts, one for each segment.
    references: texts, one for each segment, or a list of texts for each segment.
    sources: source texts, to score translations without references. The only other options are
        `languages`, such as ("de", "en"), and `segments`.
    model: `simile` (`english` with more even row norms), `english`, `tiny`, `multilingual`, a
        directory, or the Hub name of a sentence encoder.
    similarity: `windows`, `strict-windows` (agrees best with human judgments), or `sentences` as in
        the paper. Default: windows for the model `simile`, sentences for any other.
    alpha: weight of the length penalty. 0.25 is SimiLE.
    penalty: `both`, `brevity`, `excess` or `none`.
    length: `tokens` or `characters`.
    lowercase: lower-case the texts first.
    several: score of a segment with several references, `best` or `mean`.
    segments: also return the scores of each segment.
Returns:
    simile: mean SimiLE, -1 to 1.
    sim: mean SIM, without the length penalty.
    signature: the settings of the scores. Only scores with equal signatures are comparable.
    simile_scores, sim_scores: scores of each segment, if `segments`.
    problems: with `sources`, the numbers of the segments that look empty, untranslated, truncated
        or in the wrong language, from 1.
Examples:
    >>> simile = evaluate.load("simile")
    >>> simile.compute(predictions=["a cat sleeps"], references=["a cat sleeps"])["simile"]
    1.0
"""


class Simile(evaluate.Metric):
    """SimiLE as a metric of `evaluate`. `SimileScorer` documents the options of `compute`.

    A single process keeps its segments in memory, without lock files or cache. Several processes
    synchronize in `cache_dir`, and process 0 gets the result.
    """

    def __init__(
        self,
        config_name: str | None = None,
        keep_in_memory: bool = False,
        num_process: int = 1,
        **options: Any,
    ) -> None:
        self._scorers: dict[tuple[Any, ...], SimileScorer] = {}
        self._first: str | None = None
        super().__init__(
            config_name=config_name,
            keep_in_memory=keep_in_memory or num_process == 1,
            num_process=num_process,
            **options,
        )

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        several = getattr(datasets, "List", datasets.Sequence)  # called Sequence before datasets 4
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=[
                datasets.Features({"predictions": text, "references": text}),
                datasets.Features({"predictions": text, "references": several(text)}),
            ],
            reference_urls=["https://aclanthology.org/P19-1427"],
        )

    def _build_data_dir(self) -> str:
        if self.keep_in_memory:
            return os.path.join(self._data_dir_root, self.name, self.config_name)
        return str(super()._build_data_dir())

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        sources: Any = None,
        **options: Any,
    ) -> dict[str, Any] | None:
        """Score the segments added before and the segments given here.

        With `sources`, score only the predictions given here, without references.
        """
        if sources is not None:
            if references is not None or self.writer is not None:
                raise ValueError("Give either sources or references, and sources only to compute")
            segments = options.pop("segments", False)
            scores = QualityEstimator(**options).score(predictions, sources)
            return scores.to_dict(segments=segments)
        is_given = predictions is not None or references is not None
        if self.process_id == 0:
            self._scorer(options)  # check the options before adding segments
        if is_given:
            self.add_batch(predictions=predictions, references=references)
        elif self.writer is None:
            raise ValueError("No segments to score. Give predictions and references")
        try:
            return super().compute(**options)
        finally:
            self._first = None

    def add_batch(self, *, predictions: Any = None, references: Any = None) -> None:
        """Add segments."""  # evaluate extends this text
        if isinstance(references, Iterator):
            references = list(references)
        texts, lists = checked_segments(predictions, references, len(self))
        is_single = isinstance(references[0], str)
        kind = "strings" if is_single else "lists of strings"
        if self._first not in (None, kind):
            raise ValueError(
                f"references[{len(self)}] and later are {kind}, but earlier ones are "
                f"{self._first}. Give one kind for all segments"
            )
        self._first = kind
        references = [several[0] for several in lists] if is_single else lists
        super().add_batch(predictions=texts, references=references)

    def add(self, *, prediction: Any = None, reference: Any = None, **named: Any) -> None:
        """Add one segment."""  # evaluate extends this text
        # `evaluate.combine` uses the plural names here too
        prediction = named.pop("predictions", prediction)
        reference = named.pop("references", reference)
        self.add_batch(predictions=[prediction], references=[reference], **named)

    def _compute(
        self, predictions: Any, references: Any, segments: bool = False, **options: Any
    ) -> dict[str, Any]:
        return self._scorer(options).score(predictions, references).to_dict(segments=segments)

    def _scorer(self, options: dict[str, Any]) -> SimileScorer:
        options = {name: value for name, value in options.items() if name != "segments"}
        key = tuple(
            (name, value if isinstance(value, (str, Path, int, float)) else id(value))
            for name, value in sorted(options.items())
        )
        if key not in self._scorers:
            self._scorers = {key: SimileScorer(**options)}
        return self._scorers[key]
