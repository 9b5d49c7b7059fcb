"""The suites by name."""

from __future__ import annotations

from paraphrastic_hf.evaluation.retrieval import BUCC, TATOEBA
from paraphrastic_hf.evaluation.sts import STS
from paraphrastic_hf.evaluation.suite import Suite
from paraphrastic_hf.evaluation.translation import WMT_DA

SUITES: dict[str, Suite] = {
    "sts": STS,
    "wmt-da": WMT_DA,
    "tatoeba": TATOEBA,
    "bucc": BUCC,
}
