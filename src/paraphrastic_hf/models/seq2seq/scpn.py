"""Syntactically controlled paraphrase network (SCPN) and parse generator (thesis, 6.3).

SCPN reads a sentence and the desired parse of its paraphrase, linearized and without words. The
parse generator is the same network. It reads the parse of the sentence and a template, and writes
the full parse. Output probabilities are g p_copy + (1 - g) p_vocab. The released code mixes log
probabilities instead, which do not form a distribution.
"""

from huggingface_hub.dataclasses import strict

from paraphrastic_hf.models.seq2seq.paraphraser import ParaphraserConfig, ParaphraserModel


@strict
class ScpnConfig(ParaphraserConfig):
    """Configuration of `ScpnModel`. The defaults are those of the released code.

    Args:
        template_vocab_size: Number of template tokens.
        template_embedding_size: Dimensions of a template token's vector.
        template_hidden_size: Dimensions of a state of the template's LSTM.
        use_copy: Whether tokens of the source may be copied. False for the ablation of 6.7.
        writes: Kind of source and output: `sentence` for SCPN, `parse` for a parse generator.
        template: Syntax input that the decoder attends to: a full `parse`, a `template`, or `none`
            (ablation of 6.7).
    """

    model_type = "paraphrastic-scpn"

    template_vocab_size: int = 100
    template_embedding_size: int = 56
    template_hidden_size: int = 128
    use_copy: bool = True
    writes: str = "sentence"
    template: str = "parse"


class ScpnModel(ParaphraserModel):
    """Model that writes a paraphrase with the syntax of a given parse or template.

    Example:
        >>> import torch
        >>> sizes = {"vocab_size": 20, "hidden_size": 8, "embedding_size": 6}
        >>> marks = {"eos_token_id": 19, "decoder_start_token_id": 19}
        >>> model = ScpnModel(ScpnConfig(**sizes, **marks, template_vocab_size=10)).eval()
        >>> ids, template = torch.tensor([[5, 6, 19]]), torch.tensor([[2, 3, 4, 9]])
        >>> logits = model(ids, template_ids=template, labels=ids).logits
        >>> bool(torch.allclose(logits.exp().sum(-1), torch.ones(1, 3)))  # probabilities
        True
    """

    config_class = ScpnConfig
    card_sentence = (
        "{% set section = 'parse generator; thesis, 6.3.2' if writes == 'parse' else "
        "'syntactically controlled paraphrase network; thesis, 6.3' %}"
        "{% set tokens = 'brackets and labels' if writes == 'parse' else tokens %}"
        + ParaphraserModel.card_sentence
    )
    base_model_prefix = "scpn"
