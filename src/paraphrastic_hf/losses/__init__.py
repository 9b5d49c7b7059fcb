from paraphrastic_hf.extras import require

require("train", "torch", what="training")
