"""A small encoder of every family and setting, for tests of all encoders."""

from typing import Any

import torch

from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.models.encoders.mixed import MixedConfig, MixedModel
from paraphrastic_hf.models.families import FAMILIES

VOCAB, SIZE = 20, 6
SMALL = {"vocab_size": VOCAB, "hidden_size": SIZE}
CNN = {"filter_widths": [1, 2, 3], "filter_counts": [2, 2, 2]}

SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "averaging": ("averaging", {}),
    "weighted": ("weighted", {}),
    "window": ("window", {"features": 5, "context_size": 3, "context_rows": 15, "hidden": 4}),
    "window_of_five": ("window", {"features": 5, "context_size": None, "window": 2, "hidden": 0}),
    "projection": ("projection", {"embedding_size": 4}),
    "dan": ("projection", {"layers": 2, "activation": "tanh"}),
    "rnn": ("recurrent", {"cell": "rnn", "pooling": "last", "embedding_size": 4}),
    "identity_rnn": ("recurrent", {"cell": "identity_rnn", "pooling": "last"}),
    "lstm_last": ("recurrent", {"pooling": "last", "embedding_size": 4}),
    "lstm_no_output_gate": ("recurrent", {"pooling": "last", "output_gate": False}),
    "lstm_avg": ("recurrent", {}),
    "lstm_avg_plain": ("recurrent", {"peepholes": False}),
    "bilstm_avg": ("recurrent", {"bidirectional": True}),
    "bilstm_tanh": ("recurrent", {"bidirectional": True, "merge": "tanh"}),
    "bilstm_max": (
        "recurrent",
        {"bidirectional": True, "merge": "concatenate", "pooling": "max", "peepholes": False},
    ),
    **{f"gran_{k}": ("gated", {"variant": k}) for k in range(6)},
    "bigran": ("gated", {"bidirectional": True}),
    "bigran_tanh": ("gated", {"bidirectional": True, "merge": "tanh"}),
    "charagram": ("charagram", {}),
    "charagram_presence": ("charagram", {"presence": True, "activation": "linear"}),
    "char_cnn": ("char_cnn", {**CNN, "embedding_size": 4}),
    "char_cnn_no_dense": ("char_cnn", {**CNN, "dense_activation": "none", "activation": "relu"}),
}
MIXTURES = {
    "word_plus_lstm": ("add", ["averaging", "lstm_avg"]),
    "word_trigram_lstm": ("concatenate", ["averaging", "averaging", "bilstm_max"]),
}


def new_encoder(name: str, **settings: Any) -> SentenceEncoderModel:
    """Return the encoder of that name, initialized from seed 0, in evaluation mode."""
    torch.manual_seed(0)
    if name in MIXTURES:
        combine, parts = MIXTURES[name]
        configs = [new_encoder(part, **settings).config for part in parts]
        return MixedModel(MixedConfig.of(configs, combine)).eval()
    family, own = SETTINGS[name]
    model_class = FAMILIES[family]
    return model_class(model_class.config_class(**SMALL, **own, **settings)).eval()


NAMES = [*SETTINGS, *MIXTURES]
