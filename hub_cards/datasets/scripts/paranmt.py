"""ParaNMT-50M for `datasets` 3.x (later versions run no scripts). Needs paraphrastic_hf.

    datasets.load_dataset("hub_cards/datasets/scripts/paranmt.py", "50m", data_dir="DATA",
                          trust_remote_code=True)

With `datasets` 4 and later:
`paraphrastic_hf.load_dataset("paranmt", "50m", data_dir="DATA")`
"""

from typing import Any

from paraphrastic_hf.corpora.readers import pairs
from paraphrastic_hf.corpora.sources import SOURCES


class ParaNmt(pairs.ParaNmt):
    def __init__(self, **options: Any) -> None:
        super().__init__(SOURCES["paranmt"], **options)
