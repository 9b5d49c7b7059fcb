"""Invalid settings are refused with an error that names them, and write nothing."""

import re
import shlex

import pytest

from paraphrastic_hf.errors import DataError, ModelError, ParaphrasticError, RecipeError
from paraphrastic_hf.training.data.sources import read_sources
from paraphrastic_hf.training.engine.recipe import SourceArguments
from paraphrastic_hf.training.kinds import load_recipe
from tests.data_root import write_supervised
from tests.trained import FAMILIES
from tests.training.runs import BITEXT, DISTILLATION, PAIRS, recipe_of, trained, written

OTHERS = {
    "minimum_risk": f"""
kind: minimum_risk
start: absent
data: {{sources: [{{path: {BITEXT}, languages: [en, fr]}}], target_language: en, held_out: 12}}
candidates: {{count: 4}}
cost: {{metric: half}}
""",
    "distillation": DISTILLATION,
    "three languages": FAMILIES["mgt"].replace(
        "[en, fr]}", f"[en, fr]}}, {{path: {BITEXT}, languages: [zh, en]}}"
    ),
    "plain": f"data: {{sources: [{PAIRS}]}}\n",
}
# recipe | options | options...: a message names one of the options, or the text after =>
TABLES: dict[type[ParaphrasticError], str] = {
    RecipeError: r"""
word | --pooling last | --margin 2.5 | --margin .nan => nan | --learning_rate 0 | --batch_size 0
word | --batch_size -9999999999999999999999999999999999999999 | --vocab_size 2
word | --negatives hard => 'hard' | --seed -1 | --variant 2 --model.kind recurrent
word | --cell gru --model.kind recurrent | --model.kind charagram => char_ngram
word | --marks end => averaging | --combine add | --orders 0 | --freeze tables => weighted
word | --freeze tables --lambda_w 1 | --lambda_c -1 | --clip -1
word | --scramble_swaps 2 => training.scramble | --scramble_sides apart => training.scramble
word | --kind contrastve => contrastive | --model {hidden_size:3}
word | --hidden_size 1000000000000 | --vocab_size 9999999999999999999999999999999999999999
word | --model.kind recurrent --hidden_size 1000000 => GB | --optimizer adagrad --weight_decay 0.1
word | --optimizer sgd --betas 0.9 0.98 | --betas 0.9 | --momentum 0.9
word | --optimizer nesterov => momentum | --schedule inverse_root => warmup_steps
word | --objective infonce --mega_batch 2 | --objective both --similarity dot
word | --objective infonce --hinge one_sided | --temperature 0 | --matryoshka 0 | --matryoshka 4 4
word | --matryoshka 4 --whiten 0.25 | --matryoshka 4 8 => [4, 8] | --drop_apart true
charagram | --model.kind recurrent --marks end
plain | --kind language_model --hidden_size 1000000 --layers 1000 => GB
projection | --whiten 0.2
gated | --nested_dimensions true
weighted | --significant_bits 5
distillation | --hidden_size 4096 => 4096 | --teachers []
distillation | --teachers {model:\ m,\ engine:\ ctranslate2,\ precision:\ bfloat16} => bfloat16
relatedness | --task.kind summaries | --task.kind sentiment => label | --task.scores 2 2
relatedness | --task.dataset.split test | --freeze encoder => start
relatedness | --freeze tables => model.vectors | --start english --freeze encoder --lambda_c 1
relatedness | --start english --model.kind gated | --model.cell lstm => recurrent | --head.size -1
relatedness | --epochs 0 | --capital_feature true
entailment | --task.scores 1 5
sentiment | --task.tags tags
tagging | --scramble 0.5 | --held_out 0.6 | --optimizer sgd --momentum 1 | --head.size 0 => head
tagging | --word_layer sin => head | --head.layers 1
parsing | --task.tags tags | --scramble 0.5
language_model | --marks start | --heads 3 => 3 | --heads 0 | --max_length 2 | --learning_rate .inf
language_model | --batch_tokens 0 | --margin 0.4
three languages | --model.kind bgt => en, fr, zh
mgt | --reconstructs [en] | --translates [en] | --encoder lstm --encoder_layers null => transformer
mgt | --language_exponent 2
bgt | --translation_scorer true | --marks both | --heads 3 => num_attention_heads | --state_size 7
bgt | --latent_at [here] | --translates [de] => 'de' | --reconstructs [] => has_language_variables
bgt | --development held_out --held_out 0 | --variational false --kl_weight 0.5 | --aggressive true
bgt | --aggressive true --development held_out --decoders_first 9
bgt | --encoder lstm => model.encoder_layers | --encoder average => model.encoder_layers
bgt | --decoder lstm --decoder_layers 2 | --candidates 0
bgt | --contrastive 1 --translates [fr] --reconstructs [en]
gated_conv | --heads 2 | --kernel_width 2 | --marks both | --max_length 65
gated_conv | --average 3 --keep_checkpoints 2 | --anneal 0.1 => run.development | --anneal_from 2
gated_conv | --run.development bleu --held_out 0
marian | --kernel_width 3 | --hidden_size 33 => 33 | --tie false
scpn | --heads 2 | --model.kind marian --copy false | --model.kind paraphraser => model.template
scpn | --writes parse => model.template | --marks both | --held_out 0
bart | --tie true
parse_generator | --bpe codes
minimum_risk | --beams 3 | --beams 8 --search sample | --cost.name a:b | --limits 1 0 | --held_out 0
minimum_risk | --anneal 0.1 --development none | --anneal_from 2 | --gamma 1 | --start null
""",
    DataError: """
word | --vocab_size 9999 --hard_vocab_limit true => 9999
sentiment | --vocab_size 900 --hard_vocab_limit true => 900
sentiment | --task.dataset.name mr --task.dataset.config null --task.dataset.data_dir sst => mr
relatedness | --task.scores 1 4 | --task.dataset.name sik => 'sik'
tagging | --task.dataset.name europarl --task.dataset.config en-fr => europarl
tagging | --task.tags labels => 'labels'
parsing | --task.dataset.name treebank => treebank
language_model | --language fr => 'fr' | --held_out 100
gated_conv | --target_language de => (de)
bgt | --held_out 100
""",
    ModelError: """
relatedness | --start runs/none => runs/none
mgt | --start runs/none => runs/none
word | --start runs/none => runs/none
minimum_risk | --start english => english
""",
}
ROWS = [
    (error, row.split(" | ")[0], *(cell.split(" => ") * 2)[:2])
    for error, table in TABLES.items()
    for row in table.strip().splitlines()
    for cell in row.split(" | ")[1:]
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_supervised(tmp_path_factory.mktemp("data"))


@pytest.mark.parametrize(("error", "name", "options", "key"), ROWS)
def test_an_invalid_setting_is_refused(error, name, options, key, data, tmp_path):
    names = [re.escape(key)] if key != options else re.findall(r"--(?:\w+\.)*(\w+)", options)
    with pytest.raises(error, match="|".join(names)):
        trained(tmp_path, {**FAMILIES, **OTHERS}[name], *shlex.split(options), data_root=data)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("kind: contrastve", "contrastive"),
        ("parts: [{}, {model: {hidden_size: 8}}]\ncombine: add", "300, 8"),
        ("parts: [{}, {tokenizer: {lowercase: false}}]", "lowercase"),
        ("parts: [{}, {tokenizer: {apart: [fr]}}]", "apart"),
        ("parts: [{}, {}]\nmodel: {hidden_size: 8}", "model"),
        ("parts: [{}, {model: {hidden: 8}}]", "parts[1].model.hidden"),
        ("parts: [{}, {}]\nstart: english", "start"),
        ("task: {kind: parsing, dataset: gum}\ntraining: {margin: 0.4}", "training.margin"),
        ("task: {kind: parsing, dataset: gum}\nparts: [{tokenizer: {kind: char}}]", "start"),
        ("data: {sources: [{}]}", "dataset"),
        ("data: {sources: [{path: a.tsv, dataset: {name: sts}}]}", "dataset"),
        ("data: {sources: [{dataset: {name: sts, confg: sts14}}]}", "config"),
    ],
)
def test_an_invalid_recipe_is_refused(text, key, tmp_path):
    with pytest.raises(RecipeError, match=re.escape(key)):
        trained(tmp_path, text)


PLAIN = ("gated_conv", "minimum_risk", "bgt", "scpn", "language_model")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        *((name, key) for name in PLAIN for key in ("weight: 2", "swap: true")),
        ("distillation", "swap: true"),
    ],
)
def test_a_source_key_without_effect_is_refused(name, key, tmp_path):
    path = written(tmp_path, {**FAMILIES, **OTHERS}[name])
    with pytest.raises(RecipeError, match=key[:4]):
        load_recipe(path, ["--sources", f"[{{path: pairs.tsv, {key}}}]"])
    load_recipe(path, ["--sources", "[{path: pairs.tsv, weight: 1, swap: false}]"])  # defaults


def test_a_dataset_key_without_effect_is_refused(tmp_path):
    recipe = recipe_of(tmp_path, FAMILIES["gated_conv"])
    given = SourceArguments("rows", languages=["en", "fr"], swap=True)
    with pytest.raises(RecipeError):
        read_sources(recipe, tmp_path, [([{"a": "a cat", "b": "un chat"}], given)])
