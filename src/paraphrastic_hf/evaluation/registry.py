"""All evaluation suites by name. Add new suites here."""

from paraphrastic_hf.evaluation.suite import Suite
from paraphrastic_hf.evaluation.suites.bins import STS_BINS
from paraphrastic_hf.evaluation.suites.development import DEVELOPMENT
from paraphrastic_hf.evaluation.suites.hard import STS_HARD
from paraphrastic_hf.evaluation.suites.phrases import PHRASES
from paraphrastic_hf.evaluation.suites.probing import PROBING
from paraphrastic_hf.evaluation.suites.retrieval import BUCC, TATOEBA
from paraphrastic_hf.evaluation.suites.single import SICK, STS17, TWITTER
from paraphrastic_hf.evaluation.suites.speed import SPEED
from paraphrastic_hf.evaluation.suites.sts import STS
from paraphrastic_hf.evaluation.suites.transfer import TRANSFER
from paraphrastic_hf.evaluation.suites.translation import STS_METRICS, WMT_DA
from paraphrastic_hf.evaluation.suites.words import WORDS
from paraphrastic_hf.evaluation.suites.xnli import XNLI

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
