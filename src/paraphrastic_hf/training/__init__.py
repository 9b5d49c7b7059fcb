from paraphrastic_hf.extras import require

require("train", "torch", "transformers", "accelerate", "datasets", "scipy", what="training")
