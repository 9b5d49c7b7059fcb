from paraphrastic_hf.extras import require

require("evaluate", "datasets", "scipy", "matplotlib", what="an analysis")
