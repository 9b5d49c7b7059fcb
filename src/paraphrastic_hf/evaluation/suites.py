"""The suites by name."""

from __future__ import annotations

from paraphrastic_hf.evaluation.probing import PROBING
from paraphrastic_hf.evaluation.speed import SPEED
from paraphrastic_hf.evaluation.sts import STS
from paraphrastic_hf.evaluation.suite import Suite
from paraphrastic_hf.evaluation.transfer import TRANSFER
from paraphrastic_hf.evaluation.translation import WMT_DA
from paraphrastic_hf.evaluation.xnli import XNLI

SUITES: dict[str, Suite] = {
    "sts": STS,
    "transfer": TRANSFER,
    "probing": PROBING,
    "speed": SPEED,
    "wmt-da": WMT_DA,
    "xnli": XNLI,
}
