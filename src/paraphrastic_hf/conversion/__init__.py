from paraphrastic_hf.extras import require

require("train", "torch", "transformers", what="conversion")
