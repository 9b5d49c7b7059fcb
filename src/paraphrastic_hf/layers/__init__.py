from paraphrastic_hf.extras import require

require("train", "torch", what="a model that does more than average")
