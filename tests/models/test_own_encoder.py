"""An encoder defined outside the package is trained, loaded and published like ours."""

import json
import sys

import numpy as np
import pytest
import torch
from transformers import AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING

from paraphrastic_hf import SentenceEncoder, evaluate_pairs, load_recipe, register_encoder
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.config.recipe import CODE, ENCODER_KINDS
from paraphrastic_hf.errors import ModelError, RecipeError
from paraphrastic_hf.models.base import SentenceEncoderModel
from paraphrastic_hf.models.families import FAMILIES
from paraphrastic_hf.models.register import encoder_class
from paraphrastic_hf.models.supervised.relatedness import RelatednessConfig, RelatednessModel
from tests.models.encoders import NAMES, new_encoder
from tests.trained import code_of
from tests.training.runs import train

CODE_OF_A_USER = """
from torch import nn

from paraphrastic_hf import register_encoder
from paraphrastic_hf.layers.pooling import mean_rows
from paraphrastic_hf.models.table import TableConfig, TableModel


class ToyConfig(TableConfig):
    model_type = "toy"
    gain: float = 1.0


@register_encoder
class ToyModel(TableModel):
    config_class = ToyConfig
    card_sentence = "{{ gain }} times the mean of its {{ tokens }}"
    tokenizer_kinds = ("word", "char")

    def __init__(self, config):
        super().__init__(config)
        self.dense = nn.Linear(config.table_size, config.hidden_size)
        self.post_init()

    def initialize_composition(self, module):
        if module is self.dense:
            nn.init.eye_(module.weight)
            nn.init.zeros_(module.bias)

    def pool_rows(self, states, lengths):
        known = (lengths > 0).unsqueeze(1)
        return self.config.gain * self.dense(mean_rows(states, lengths)) * known


NotAnEncoder = dict
"""
PAIRS = "data: {sources: [recipes/demo/pairs.tsv]}"
TRAINING = """
training: {epochs: 1, batch_size: 20, mega_batch: 1}
run: {development: none}
"""
RECIPE = f"""
{PAIRS}
tokenizer: {{kind: word, vocab_size: 200}}
model:
  kind: toy_encoder:ToyModel
  options: {{gain: 2.0}}
  hidden_size: 8
{TRAINING}
"""
PART = "- {{tokenizer: {{kind: word, vocab_size: 99}}, model: {{kind: {}, hidden_size: 4}}}}\n"
MIXTURE = f"{PAIRS}\nparts:\n{PART.format('toy')}{PART.format('averaging')}{TRAINING}"


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """A recipe that names the toy encoder, which is importable from here and then forgotten."""
    (tmp_path / "toy_encoder.py").write_text(CODE_OF_A_USER, encoding="utf-8")
    (tmp_path / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "recipe.yaml"
    forget("toy")
    sys.modules.pop("toy_encoder", None)


def forget(kind):
    """Undo `register_encoder`."""
    model_class = FAMILIES.pop(kind, None)
    if model_class is not None:
        ENCODER_KINDS.remove(kind)
        CONFIG_MAPPING._extra_content.pop(kind)
        MODEL_MAPPING._extra_content.pop(model_class.config_class)


def test_a_recipe_trains_it_and_every_command_accepts_it(recipe, tmp_path):
    run, out = tmp_path / "mine", tmp_path / "out"
    assert main(["train", str(recipe), "--output", str(run), "--quiet"]) == 0
    assert json.loads((run / "config.json").read_text())["gain"] == 2.0
    encoder = SentenceEncoder.from_pretrained(run)
    auto = AutoModel.from_pretrained(run)
    assert type(encoder.model) is type(auto) is encoder_class("toy")
    ids = torch.tensor([[3, 4]])
    assert torch.equal(auto(ids).sentence_embedding, encoder.model(ids).sentence_embedding)
    assert np.linalg.norm(encoder.encode("a cat sleeps")) > 0
    gold = tmp_path / "gold.tsv"
    gold.write_text("a cat sleeps\tthe cat is asleep\t5\na cat sleeps\tit rains\t0\n" * 5)
    assert evaluate_pairs(encoder, gold)["rows"]
    assert main(["evaluate", str(run), "--pairs", str(gold)]) == 0
    words = ["publish", "model", str(run), "me/toy", "--private", "--dry-run", str(out)]
    assert main(words) != 0  # needs --allow-code
    assert main([*words, "--allow-code"]) == 0
    assert (out / "toy_encoder.py").read_text(encoding="utf-8") == CODE_OF_A_USER
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "2.0 times the mean of its words" in card
    exec(code_of((run / "README.md").read_text(encoding="utf-8")), {})


def test_it_can_start_a_run_join_a_mixture_and_have_a_head(recipe, tmp_path):
    train(load_recipe(recipe), tmp_path / "one")
    train(load_recipe(recipe, ["--start", str(tmp_path / "one")]), tmp_path / "two")
    toy = SentenceEncoder.from_pretrained(tmp_path / "two").model
    assert toy.config.gain == 2.0
    recipe.write_text(MIXTURE, encoding="utf-8")
    train(load_recipe(recipe), tmp_path / "mixed")
    assert SentenceEncoder.from_pretrained(tmp_path / "mixed").encode("a cat sleeps").shape == (8,)
    head = RelatednessModel(RelatednessConfig(encoder=toy.config.to_dict()))
    assert type(head.encoder) is type(toy)


def test_its_saved_code_is_loaded_only_if_trusted(recipe, tmp_path):
    train(load_recipe(recipe), tmp_path / "mine")
    wanted = SentenceEncoder.from_pretrained(tmp_path / "mine").encode("a cat sleeps")
    forget("toy")
    with pytest.raises(ModelError):
        SentenceEncoder.from_pretrained(tmp_path / "mine")
    AutoModel.from_pretrained(tmp_path / "mine", trust_remote_code=True)
    found = SentenceEncoder.from_pretrained(tmp_path / "mine").encode("a cat sleeps")
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--model.kind", "toi"], "model.kind"),
        (["--model.kind", "no_such_module:Model"], "no_such_module"),
        (["--model.kind", "toy_encoder:NotAnEncoder"], "NotAnEncoder"),
        (["--model.options", "{gian: 1}"], "'gain'"),
        (["--tokenizer.kind", "sentencepiece"], "tokenizer.kind"),
        (["--layers", "2"], "model.layers"),
        (["--finish.whiten", "0.3"], "finish.whiten"),
    ],
)
def test_mistakes_in_a_recipe_are_named(recipe, tmp_path, options, named):
    with pytest.raises(RecipeError, match=named):
        train(load_recipe(recipe, options), tmp_path / "mine")
    assert not (tmp_path / "mine" / "model.safetensors").exists()


def test_only_an_encoder_with_its_own_type_is_registered():
    averaging = FAMILIES["averaging"]
    unnamed = type("Unnamed", (averaging.config_class,), {"model_type": ""})
    wrong = [dict, print]
    for config_class in (averaging.config_class, unnamed):
        wrong.append(type("Own", (averaging,), {"config_class": config_class}))
    for each in wrong:
        with pytest.raises((TypeError, ValueError)):
            register_encoder(each)
    assert {*ENCODER_KINDS} == {*FAMILIES, CODE}


@pytest.mark.parametrize("name", NAMES)
def test_the_default_embed_flat_matches_each_models_own(name):
    model, lengths = new_encoder(name), torch.tensor([2, 0, 3])
    ids = torch.tensor([3, 4, 5, 3, 6])
    torch.testing.assert_close(
        SentenceEncoderModel.embed_flat(model, ids, lengths), model.embed_flat(ids, lengths)
    )
