"""ParaNMT-50M for `datasets` 3.x (later versions run no scripts). Needs paraphrastic_hf.

    datasets.load_dataset("hub_cards/datasets/scripts/paranmt.py", "50m", data_dir="DATA",
                          trust_remote_code=True)

With `datasets` 4 and later:
`paraphrastic_hf.load_dataset("paranmt", "50m", data_dir="DATA")`
"""

from paraphrastic_hf.corpora.readers.paraphrase import ParaNmt

__all__ = ["ParaNmt"]
