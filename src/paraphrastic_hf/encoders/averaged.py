from paraphrastic_hf.encoders.encoder import SentenceEncoder
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.models.generative.latent import LatentModel
from paraphrastic_hf.models.generative.latent_parts import SEMANTIC
from paraphrastic_hf.text.marks import MarkedTokenizer


def averaged(encoder: SentenceEncoder) -> SentenceEncoder:
    """Convert a generative model that averages token vectors. Return others unchanged.

    Models that embed with a language variable, subtract a mean, or exclude a token other than the
    end mark are refused.
    """
    model = None if encoder.table(slice(0, 0)) is not None else encoder.model_apart()
    if not isinstance(model, LatentModel) or model.config.encoder_kind != "average":
        return encoder
    if model.variable != SEMANTIC:
        raise ModelError(
            f"The embedding is the variable {model.variable}, which is not an average of token "
            f"vectors. Select {SEMANTIC!r} with `read_variable`"
        )
    if model.config.is_centered:
        raise ModelError(
            "This model subtracts a mean from its embeddings, which an averaging model cannot do. "
            "Train it without training.center"
        )
    average = model.encoder_of(SEMANTIC).encoder
    tokenizer = encoder.tokenizer
    marks = (*tokenizer.special.start, *tokenizer.special.end)
    if marks != (() if average.end is None else (average.end,)):
        raise ModelError(
            f"The model excludes token {average.end} from the average, but its tokenizer adds "
            f"{list(marks)}. Load both from one directory"
        )
    if isinstance(tokenizer, MarkedTokenizer):
        tokenizer = tokenizer.inner
    rows = average.table.weight.detach().float().cpu()[: tokenizer.vocab_size].clone()
    rows[0] = 0  # padding
    table = SentenceEncoder.from_table(
        rows.numpy(), tokenizer, name=encoder.name, num_threads=encoder.num_threads
    )
    table.origin = encoder.origin
    table.model_card_data.base_model = encoder.name
    return table
