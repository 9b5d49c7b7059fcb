"""All evaluation suites by name; a new suite adds its line here."""

from __future__ import annotations

from paraphrastic_hf.evaluation.bins import STS_BINS
from paraphrastic_hf.evaluation.development import DEVELOPMENT
from paraphrastic_hf.evaluation.hard import STS_HARD
from paraphrastic_hf.evaluation.metrics_on_sts import STS_METRICS
from paraphrastic_hf.evaluation.phrases import PHRASES
from paraphrastic_hf.evaluation.probing import PROBING
from paraphrastic_hf.evaluation.retrieval import BUCC, TATOEBA
from paraphrastic_hf.evaluation.single import SICK, STS17, TWITTER
from paraphrastic_hf.evaluation.speed import SPEED
from paraphrastic_hf.evaluation.sts import STS
from paraphrastic_hf.evaluation.suite import Suite
from paraphrastic_hf.evaluation.transfer import TRANSFER
from paraphrastic_hf.evaluation.translation import WMT_DA
from paraphrastic_hf.evaluation.words import WORDS
from paraphrastic_hf.evaluation.xnli import XNLI

SUITES: dict[str, Suite] = {
    "sts": STS,
    "sts-hard": STS_HARD,
    "sts-bins": STS_BINS,
    "sts-metrics": STS_METRICS,
    "sts17": STS17,
    "sick": SICK,
    "twitter": TWITTER,
    "words": WORDS,
    "phrases": PHRASES,
    "transfer": TRANSFER,
    "probing": PROBING,
    "xnli": XNLI,
    "wmt-da": WMT_DA,
    "tatoeba": TATOEBA,
    "bucc": BUCC,
    "development": DEVELOPMENT,
    "speed": SPEED,
}
