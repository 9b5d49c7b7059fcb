"""Hard STS for `datasets` 3.x (later versions run no scripts). Needs paraphrastic_hf.

    datasets.load_dataset("hub_cards/datasets/scripts/hard_sts.py", "hard_plus", data_dir="DATA",
                          trust_remote_code=True)

With `datasets` 4 and later:
`paraphrastic_hf.load_dataset("hard_sts", "hard_plus", data_dir="DATA")`
"""

from typing import Any

from paraphrastic_hf.corpora.readers import similarity
from paraphrastic_hf.corpora.sources import SOURCES


class HardSts(similarity.HardSts):
    def __init__(self, **options: Any) -> None:
        super().__init__(SOURCES["hard_sts"], **options)
