"""The suites by name."""

from __future__ import annotations

from paraphrastic_hf.evaluation.bins import STS_BINS
from paraphrastic_hf.evaluation.hard import STS_HARD
from paraphrastic_hf.evaluation.phrases import PHRASES
from paraphrastic_hf.evaluation.single import SICK, STS17, TWITTER
from paraphrastic_hf.evaluation.sts import STS
from paraphrastic_hf.evaluation.suite import Suite
from paraphrastic_hf.evaluation.translation import WMT_DA
from paraphrastic_hf.evaluation.words import WORDS

SUITES: dict[str, Suite] = {
    "sts": STS,
    "sts-hard": STS_HARD,
    "sts-bins": STS_BINS,
    "sts17": STS17,
    "sick": SICK,
    "twitter": TWITTER,
    "words": WORDS,
    "phrases": PHRASES,
    "wmt-da": WMT_DA,
}
