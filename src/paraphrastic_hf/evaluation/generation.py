"""Comparison of the translations of several systems (thesis, 7.4 and 7.5)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paraphrastic_hf.errors import DataError, counted
from paraphrastic_hf.evaluation.measures.word_scores import (
    Tag,
    bucket_f1,
    bucket_names,
    frequency_bucket,
    length_ratio,
    repetition_rate,
    tag_f1,
)
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.markdown import code, markdown_table
from paraphrastic_hf.metrics.corpus_bleu import compare_bleu
from paraphrastic_hf.metrics.resampling import Means, p_text, p_value
from paraphrastic_hf.metrics.scorer import SimileScorer
from paraphrastic_hf.metrics.systems import compare_systems

Systems = Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True)
class Figure:
    """A score of one system, usually x 100, with the p-value against the first system if tested."""

    value: float
    p_value: float | None = None


@dataclass(frozen=True)
class GenerationReport:
    """Scores of several systems, in the order of `names`."""

    names: list[str]
    figures: dict[str, list[Figure]]  # by measure
    words: dict[str, dict[str, list[float]]]  # word F1 x 100 by kind of bucket and bucket
    references: dict[str, float]  # scores of the reference translations, by measure
    signatures: dict[str, str]  # settings of each measure
    samples: int  # random permutations per p-value, used for more than 20 segments
    segments: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "systems": {
                name: {measure: vars(each[i]) for measure, each in self.figures.items()}
                | {
                    kind: {bucket: values[i] for bucket, values in buckets.items()}
                    for kind, buckets in self.words.items()
                }
                for i, name in enumerate(self.names)
            },
            "references": self.references,
            "signatures": self.signatures,
            "samples": self.samples,
            "segments": self.segments,
        }


def judge(
    systems: Systems,
    references: Sequence[str],
    *,
    scorer: SimileScorer | None = None,
    counted: Sequence[str] | None = None,
    tag: Tag | None = None,
    judges: Sequence[tuple[str, Any]] = (),
    samples: int = 1000,
    seed: int = 1,
) -> GenerationReport:
    """Score the outputs of systems, with p-values against the first system.

    Args:
        counted: Text from which word frequencies are counted, such as the training text. None uses
            the references, as in Table 70.
        tag: Function from sentences, as lists of words, to tags, for F1 by part of speech.
        judges: Names and models of further similarity metrics: any model that `SimileScorer` takes.
            They should not have been used in training.
    """
    require("compare", "sacrebleu", what="BLEU and chrF")
    names = [name for name, _ in systems]
    if len(set(names)) < len(names) or not names:
        raise DataError(f"systems must have distinct names, got {', '.join(names) or 'none'}")
    scorer = SimileScorer() if scorer is None else scorer
    resampling: dict[str, Any] = {"samples": samples, "seed": seed}
    semantic = compare_systems(scorer, systems, references, **resampling)
    from sacrebleu.metrics import BLEU, CHRF  # type: ignore[attr-defined]
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a  # BLEU's default

    bleu, chrf, right = BLEU(), CHRF(), [list(references)]
    figures: dict[str, list[Figure]] = {
        "BLEU": [
            Figure(each.bleu.mean, each.p_value)
            for each in compare_bleu(systems, references, **resampling)
        ],
        "chrF": [Figure(chrf.corpus_score(list(texts), right).score) for _, texts in systems],
        "SIM": [Figure(100 * each.sim.mean, each.sim_p_value) for each in semantic],
        "SimiLE": [Figure(100 * each.simile.mean, each.p_value) for each in semantic],
    }
    bleu.corpus_score(list(systems[0][1]), right)  # the signature exists only after scoring
    signatures = {
        name: str(each.get_signature()) for name, each in (("BLEU", bleu), ("chrF", chrf))
    }
    signatures["SIM, SimiLE"] = semantic[0].scores.signature
    for name, encoder in judges:
        figures[name], signatures[name] = _judged(encoder, systems, references, resampling)
    tokenize = Tokenizer13a()

    def cut(text: str) -> list[str]:
        return tokenize(text.rstrip()).split()

    wanted = [cut(text) for text in references]
    outputs = [[cut(text) for text in texts] for _, texts in systems]
    figures["repetition"] = [Figure(repetition_rate(each)) for each in outputs]
    figures["length"] = [Figure(100 * length_ratio(each, wanted)) for each in outputs]
    texts = wanted if counted is None else map(cut, counted)
    bucket = frequency_bucket(Counter(word for words in texts for word in words))
    of_frequency = [bucket_f1(each, wanted, bucket) for each in outputs]
    words = {"frequency": _columns(of_frequency, bucket_names())}
    if tag is not None:
        of_tag = [tag_f1(each, wanted, tag) for each in outputs]
        words["part of speech"] = _columns(of_tag, sorted({t for each in of_tag for t in each}))
    return GenerationReport(
        names,
        figures,
        words,
        {"repetition": repetition_rate(wanted)},
        signatures,
        samples,
        len(references),
    )


def generation_markdown(report: GenerationReport) -> str:
    """Return the report as Markdown: scores, word F1, and F1 differences from the first system."""
    lines = ["# Translations", "", f"{counted(report.segments, 'segment')}; figures x 100.", ""]
    columns, rows = ["system"], [[name] for name in report.names]
    for measure, values in report.figures.items():
        is_tested = any(each.p_value is not None for each in values)
        columns += [measure, "p"] if is_tested else [measure]
        for row, each in zip(rows, values, strict=True):
            row.append(f"{each.value:.2f}")
            if is_tested:
                row.append(p_text(each.p_value))
    lines += markdown_table(columns, rows)
    lines += ["", f"Repetition of the references: {report.references['repetition']:.2f}."]
    for kind, buckets in report.words.items():
        lines += ["", f"## F1 of words by {kind}", ""]
        columns = [kind, *report.names]
        changes = [f"{name}, change" for name in report.names[1:]]
        rows = []
        for bucket, found in buckets.items():
            row = [bucket, *(f"{value:.2f}" for value in found)]
            rows.append([*row, *(f"{value - found[0]:+.2f}" for value in found[1:])])
        lines += markdown_table([*columns, *changes], rows)
    lines += [""] + [f"{name}: {code(text)}  " for name, text in report.signatures.items()]
    return "\n".join([*lines, ""])


def _judged(
    encoder: Any, systems: Systems, references: Sequence[str], resampling: dict[str, Any]
) -> tuple[list[Figure], str]:
    """Return mean cosines of outputs and references, and the encoder's signature."""
    scorer = SimileScorer(encoder, similarity="sentences", penalty="none")
    scores = [scorer.score(outputs, references) for _, outputs in systems]
    means = [Means(each.sim, f"score of system {i}") for i, each in enumerate(scores, 1)]
    figures = [
        Figure(100 * each.sim_score, p_value(means[i], means[0], **resampling) if i else None)
        for i, each in enumerate(scores)
    ]
    return figures, scores[0].signature


def _columns(found: Sequence[dict[str, float]], order: Sequence[str]) -> dict[str, list[float]]:
    known = [bucket for bucket in order if bucket in found[0]]  # equal for all systems
    return {bucket: [each[bucket] for each in found] for bucket in known}
