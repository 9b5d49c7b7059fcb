"""Model directories of every kind: files, replacement, errors."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    GenerationMixin,
    PreTrainedConfig,
)
from transformers.modeling_outputs import CausalLMOutput

from paraphrastic_hf import AveragingConfig, AveragingModel, SentenceParser
from paraphrastic_hf.encoders.storage.directory import (
    LANGUAGE_MODEL,
    SENTENCE_ENCODER,
    SUPERVISED,
    TAGGER,
    Layout,
    check_weights,
    load_pretrained,
    save_model,
)
from paraphrastic_hf.errors import ModelError
from paraphrastic_hf.io.files import GENERATION_CONFIG, SENTENCE_TRANSFORMERS_FILES
from paraphrastic_hf.models.base import ParaphrasticModel
from paraphrastic_hf.models.supervised.classifier import ClassifierConfig, ClassifierModel
from paraphrastic_hf.models.supervised.tagger import TaggerConfig, TaggerModel
from paraphrastic_hf.text.char_ngram import CharNgramTokenizer
from paraphrastic_hf.text.word import WordTokenizer

COMMON = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
COMMON |= {"paraphrastic_tokenizer.json"}
TRANSLATOR = Layout(  # that also embeds sentences
    "Translator", AutoModelForSeq2SeqLM, files=(GENERATION_CONFIG, *SENTENCE_TRANSFORMERS_FILES)
)


class BigramConfig(PreTrainedConfig):
    model_type = "paraphrastic-test-bigrams"
    vocab_size: int = 7
    hidden_size: int = 4
    tie_word_embeddings: bool = True
    use_cache: bool = False


class BigramModel(ParaphrasticModel, GenerationMixin):
    """A language model in which the next word depends only on the last, with tied tables."""

    config_class = BigramConfig
    auto_class = "AutoModelForCausalLM"
    _tied_weights_keys = {"head.weight": "embedding.weight"}

    def __init__(self, config: BigramConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.turn = nn.Linear(config.hidden_size, config.hidden_size)
        self.head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.register_buffer("steps", torch.tensor([16_777_217]))  # no float32 has it
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    def forward(self, input_ids: Tensor, **kwargs: Any) -> CausalLMOutput:
        return CausalLMOutput(logits=self.head(self.turn(self.embedding(input_ids))))


AutoConfig.register(BigramConfig.model_type, BigramConfig)
AutoModelForCausalLM.register(BigramConfig, BigramModel)


@pytest.fixture
def tokenizer():
    return WordTokenizer(["a", "cat", "sleeps", "here", "now"])


@pytest.fixture
def bigrams():
    torch.manual_seed(0)
    return BigramModel(BigramConfig()).eval()


def averaging() -> AveragingModel:
    return AveragingModel(AveragingConfig(vocab_size=7, hidden_size=4))


def names(directory: Path) -> set[str]:
    return {p.name for p in directory.iterdir() if not p.match("paraphrastic_*.py")}


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_loaded_language_model_generates_the_same_text(precision, bigrams, tokenizer, tmp_path):
    bigrams.generation_config.max_new_tokens = 5
    with torch.no_grad():  # numbers that bfloat16 has
        for weight in bigrams.parameters():
            weight.copy_(weight.bfloat16())
    save_model(bigrams, tokenizer, tmp_path, LANGUAGE_MODEL, precision=precision)
    assert names(tmp_path) == COMMON | {GENERATION_CONFIG}
    held = load_file(tmp_path / "model.safetensors")
    assert set(held) == {"embedding.weight", "turn.weight", "turn.bias", "steps"}
    assert held["turn.weight"].dtype == getattr(torch, precision)
    for again in (
        load_pretrained(tmp_path, LANGUAGE_MODEL),
        AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32),
    ):
        assert again.head.weight is again.embedding.weight
        assert again.steps.tolist() == [16_777_217]
        ids = torch.tensor([[2, 3]])
        expected = bigrams.generate(ids, do_sample=False)
        assert expected.shape == (1, 7)
        assert torch.equal(again.generate(ids, do_sample=False), expected)


def test_saving_replaces_a_model_of_another_kind(bigrams, tokenizer, tmp_path):
    encoder = AveragingConfig(vocab_size=7, hidden_size=4).to_dict()
    classifier = ClassifierModel(ClassifierConfig(encoder=encoder, id2label={0: "no", 1: "yes"}))
    tagger = TaggerModel(TaggerConfig(encoder=encoder, id2label={0: "NN", 1: "VB"}))
    (tmp_path / "notes.txt").write_text("of the user")
    sentence_transformers = set(SENTENCE_TRANSFORMERS_FILES)
    for model, layout, files in [
        (averaging(), SENTENCE_ENCODER, sentence_transformers),
        (bigrams, LANGUAGE_MODEL, {GENERATION_CONFIG}),
        (classifier, SUPERVISED, set()),
        (bigrams, TRANSLATOR, {GENERATION_CONFIG, *sentence_transformers}),
        (tagger, TAGGER, set()),
        (bigrams, SENTENCE_ENCODER, sentence_transformers),
    ]:
        save_model(model, tokenizer, tmp_path, layout)
        assert names(tmp_path) == COMMON | files | {"notes.txt"}
        settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
        assert ("token_type_ids" in settings["model_input_names"]) is (layout is SUPERVISED)
    ngrams = CharNgramTokenizer(ngrams=["cat", "cut", "sat", "sit", "now"])
    save_model(averaging(), ngrams, tmp_path, SENTENCE_ENCODER)
    assert "tokenizer.json" not in names(tmp_path)
    module = json.loads((tmp_path / "modules.json").read_text())[0]
    assert module["type"] == "paraphrastic_hf.sbert.EncoderModule"


def test_a_failed_save_keeps_the_previous_model_and_an_interrupted_one_has_no_weights(
    tokenizer, tmp_path, monkeypatch
):
    save_model(averaging(), tokenizer, tmp_path, SENTENCE_ENCODER)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    replace = Path.replace

    def full(path: Path, *arguments: Path, **_: object) -> Any:
        if isinstance(path, Path) and not path.match("model.part/tokenizer.json"):
            return replace(path, *arguments)
        raise OSError("no space left")

    owners = {AveragingModel: "save_pretrained", WordTokenizer: "save", Path: "replace"}
    for owner, name in owners.items():
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, full)
            with pytest.raises(OSError, match="no space"):
                save_model(averaging(), tokenizer, tmp_path, SENTENCE_ENCODER)
        kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        assert kept == before if owner is not Path else "model.safetensors" not in kept
    save_model(averaging(), tokenizer, tmp_path, SENTENCE_ENCODER)
    assert load_pretrained(tmp_path, SENTENCE_ENCODER).config.hidden_size == 4


def test_missing_and_nan_weights_are_named(bigrams, tokenizer, tmp_path):
    nan = bigrams.turn.bias.detach().clone()
    nan[2] = float("nan")
    for changes in ({"turn.bias": None}, {"embedding.weight": None}, {"turn.bias": nan}):
        save_model(bigrams, tokenizer, tmp_path, LANGUAGE_MODEL)
        weights = load_file(tmp_path / "model.safetensors") | changes
        kept = {name: weight for name, weight in weights.items() if weight is not None}
        save_file(kept, tmp_path / "model.safetensors", {"format": "pt"})
        with pytest.raises(ModelError, match=next(iter(changes))):
            load_pretrained(tmp_path, LANGUAGE_MODEL)


def test_nan_weights_are_found_in_bfloat16():
    model = averaging().bfloat16()
    check_weights("model", model)
    model.embedding.weight.data[2] = float("nan")
    with pytest.raises(ModelError, match="Row 2"):
        check_weights("model", model)


def test_a_model_of_another_kind_is_refused(tokenizer, tmp_path):
    save_model(averaging(), tokenizer, tmp_path, SENTENCE_ENCODER)
    with pytest.raises(ModelError):
        load_pretrained(tmp_path, LANGUAGE_MODEL)
    with pytest.raises(ModelError):
        SentenceParser.from_pretrained("english")
