"""Models that generate: what they say, and how likely they find what others say."""

from paraphrastic_hf.extras import require

require("train", "torch", "transformers", what="a model that writes")
