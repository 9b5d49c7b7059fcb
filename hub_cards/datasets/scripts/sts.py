"""STS 2012-2016 for `datasets` 3.x (later versions run no scripts). Needs paraphrastic_hf.

    datasets.load_dataset("hub_cards/datasets/scripts/sts.py", "sts14", data_dir="DATA",
                          trust_remote_code=True)

With `datasets` 4 and later:
`paraphrastic_hf.load_dataset("sts", "sts14", data_dir="DATA")`
"""

from typing import Any

from paraphrastic_hf.corpora.readers import similarity
from paraphrastic_hf.corpora.sources import SOURCES


class Sts(similarity.Sts):
    def __init__(self, **options: Any) -> None:
        super().__init__(SOURCES["sts"], **options)
