"""Invalid settings are refused, and the message names the first setting listed here."""

import pytest
from huggingface_hub.errors import StrictDataclassError

from paraphrastic_hf.models.encoders.averaging import AveragingConfig
from paraphrastic_hf.models.encoders.char_cnn import CharCnnConfig
from paraphrastic_hf.models.encoders.charagram import CharagramConfig
from paraphrastic_hf.models.encoders.gated import GatedConfig
from paraphrastic_hf.models.encoders.mixed import MixedConfig
from paraphrastic_hf.models.encoders.projection import ProjectionConfig
from paraphrastic_hf.models.encoders.recurrent import RecurrentConfig
from paraphrastic_hf.models.generative.bgt import BGTConfig
from paraphrastic_hf.models.generative.mgt import MGTConfig
from paraphrastic_hf.models.seq2seq.gated_conv import GatedConvConfig
from paraphrastic_hf.models.supervised.parser import ParserConfig
from paraphrastic_hf.models.supervised.relatedness import RelatednessConfig
from paraphrastic_hf.models.supervised.tagger import TaggerConfig
from tests.models import test_bgt as bgt
from tests.models import test_mgt as mgt
from tests.models.encoders import new_encoder

ENCODER = new_encoder("averaging").config.to_dict()
NARROW = {**ENCODER, "hidden_size": 4}
MIXTURE = new_encoder("word_plus_lstm").config.to_dict()
VALID = {
    **{each: {"encoder": ENCODER} for each in (RelatednessConfig, ParserConfig, TaggerConfig)},
    MixedConfig: {"combine": "add", "parts": [ENCODER, ENCODER]},
    BGTConfig: bgt.SIZES,
    MGTConfig: mgt.SIZES,
}
INVALID = {
    AveragingConfig: [{"pooling": "last"}, {"embedding_size": 100}],
    ProjectionConfig: [{"layers": 3}, {"layers": 2}, {"activation": "gelu"}],
    CharagramConfig: [{"activation": "gelu"}, {"embedding_size": 100}],
    CharCnnConfig: [
        *({"filter_widths": [2]}, {"filter_widths": [0, 1, 2]}, {"activation": "linear"}),
        *({"dense_activation": "none"}, {"dense_activation": "gelu"}),
    ],
    GatedConfig: [
        *({"variant": 6}, {"activation": "relu"}, {"activation": "linear", "variant": 0}),
        *({"merge": "concatenate"}, {"merge": "tanh"}, {"embedding_size": 200}),
        {"bidirectional": True, "variant": 3},
    ],
    RecurrentConfig: [
        *({"cell": "gru"}, {"pooling": "first"}, {"merge": "sum"}, {"merge": "concatenate"}),
        *({"output_gate": False, "cell": "rnn"}, {"activation": "linear", "cell": "rnn"}),
        *({"pooling": "mean", "cell": "identity_rnn"}, {"activation": "relu"}),
        {"embedding_size": 4, "cell": "identity_rnn", "pooling": "last"},
        {"activation": "relu", "cell": "identity_rnn", "pooling": "last"},
        {"pooling": "last", "bidirectional": True},
        {"hidden_size": 301, "bidirectional": True, "merge": "concatenate"},
    ],
    MixedConfig: [
        *({"parts": [ENCODER]}, {"parts": [{}, {}]}, {"parts": [MIXTURE, MIXTURE]}),
        *({"combine": "multiply"}, {"combine": "add", "parts": [ENCODER, NARROW]}),
    ],
    RelatednessConfig: [{"encoder": {"model_type": "bert"}}, {"encoder": None}],
    TaggerConfig: [{"word_layer": "sin"}, {"max_words": 0}, {"head_size": 0}, {"encoder": {}}],
    BGTConfig: [
        *({"num_attention_heads": 2, "hidden_size": 9}, {"latent_at": ["everywhere"]}),
        {"languages": ["en"], "reconstructs": ["en"], "translates": []},
        *({"languages": ["en", code]} for code in ("en", "to", "zh.Hans")),
        *({"translates": ["de"]}, {"reconstructs": [], "translates": []}),
        *({"reconstructs": ["en", "en"]}, {"reconstructs": []}, {"encoder_kind": "gru"}),
        *({"adds_average": True, "state_size": 4}, {"encoder_kind": "average", "state_size": 4}),
        {"adds_average": True, "encoder_kind": "average"},
    ],
    MGTConfig: [
        *({"languages": codes} for codes in (["en"], ["en", "fr", "en"], ["en", "semantic"])),
        *({"encoder_kind": "lstm"}, {"reconstructs": False}, {"encoder_kind": "average"}),
        {"has_translation_scorer": True, **mgt.PLAIN},
    ],
    GatedConvConfig: [{"kernel_width": 2}],
}


@pytest.mark.parametrize(
    ("config", "settings"),
    [(config, settings) for config, every in INVALID.items() for settings in every],
    ids=str,
)
def test_invalid_settings_are_refused(config, settings):
    with pytest.raises((StrictDataclassError, ValueError)) as error:
        config(**(VALID.get(config, {}) | settings))
    assert next(iter(settings)) in str(error.value.__cause__ or error.value)
