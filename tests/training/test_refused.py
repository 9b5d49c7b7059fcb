"""Invalid settings are refused with an error that names them, and write nothing."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

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
# recipe | options | text in the message
TABLES: dict[type[ParaphrasticError], str] = {
    RecipeError: """
word | --pooling last | model.pooling
word | --margin 2.5 | training.margin
word | --margin .nan | nan
word | --learning_rate 0 | training.learning_rate
word | --batch_size 0 | training.batch_size
word | --batch_size -9999999999999999999999999999999999999999 | training.batch_size
word | --vocab_size 2 | tokenizer.vocab_size
word | --negatives hard | 'hard'
word | --seed -1 | seed
word | --variant 2 --model.kind recurrent | model.variant
word | --cell gru --model.kind recurrent | cell
word | --model.kind charagram | char_ngram
charagram | --model.kind recurrent --marks end | tokenizer.marks
word | --marks end | averaging
word | --combine add | combine
word | --orders 0 | tokenizer.orders
word | --freeze tables | weighted
word | --freeze tables --lambda_w 1 | lambda_w
word | --lambda_c -1 | training.lambda_c
word | --clip -1 | training.clip
word | --scramble_swaps 2 | training.scramble
word | --scramble_sides apart | training.scramble
word | --kind contrastve | contrastive
word | --kind generative | generative
word | --model {hidden_size:3} | model
word | --hidden_size 1000000000000 | model.hidden_size
word | --vocab_size 9999999999999999999999999999999999999999 | tokenizer.vocab_size
word | --model.kind recurrent --hidden_size 1000000 | GB
plain | --kind language_model --hidden_size 1000000 --layers 1000 | GB
word | --optimizer adagrad --weight_decay 0.1 | weight_decay
word | --optimizer sgd --betas 0.9 0.98 | betas
word | --betas 0.9 | training.betas
word | --momentum 0.9 | momentum
word | --optimizer nesterov | momentum
word | --schedule inverse_root | warmup_steps
word | --objective infonce --mega_batch 2 | mega_batch
word | --objective both --similarity dot | similarity
word | --objective infonce --hinge one_sided | hinge
word | --temperature 0 | temperature
word | --matryoshka 0 | matryoshka
word | --matryoshka 4 4 | matryoshka
word | --matryoshka 4 --whiten 0.25 | matryoshka
word | --matryoshka 4 8 | [4, 8]
projection | --whiten 0.2 | finish.whiten
gated | --nested_dimensions true | finish.nested_dimensions
weighted | --significant_bits 5 | finish.significant_bits
word | --drop_apart true | drop_apart
distillation | --hidden_size 4096 | 4096
distillation | --teachers [] | teachers
distillation | --teachers {model:\\ m,\\ engine:\\ ctranslate2,\\ precision:\\ bfloat16} | bfloat16
relatedness | --task.kind summaries | task.kind
relatedness | --task.kind sentiment | label
relatedness | --task.scores 2 2 | task.scores
entailment | --task.scores 1 5 | task.scores
relatedness | --task.dataset.split test | split
relatedness | --freeze encoder | start
relatedness | --freeze tables | model.vectors
relatedness | --start english --freeze encoder --lambda_c 1 | lambda_c
relatedness | --start english --model.kind gated | start
relatedness | --model.cell lstm | recurrent
relatedness | --head.size -1 | head.size
relatedness | --epochs 0 | training.epochs
relatedness | --capital_feature true | head.capital_feature
sentiment | --task.tags tags | task.tags
tagging | --scramble 0.5 | scramble
tagging | --held_out 0.6 | task.held_out
tagging | --optimizer sgd --momentum 1 | momentum
tagging | --head.size 0 | head
tagging | --word_layer sin | head
tagging | --head.layers 1 | head.layers
parsing | --task.tags tags | task.tags
parsing | --scramble 0.5 | scramble
language_model | --marks start | tokenizer.marks
language_model | --heads 3 | 3
language_model | --heads 0 | model.heads
language_model | --max_length 2 | data.max_length
language_model | --learning_rate .inf | training.learning_rate
language_model | --batch_tokens 0 | training.batch_tokens
language_model | --margin 0.4 | --margin
three languages | --model.kind bgt | en, fr, zh
mgt | --reconstructs [en] | model.reconstructs
mgt | --translates [en] | model.translates
mgt | --encoder lstm | transformer
mgt | --language_exponent 2 | language_exponent
bgt | --translation_scorer true | model.translation_scorer
bgt | --marks both | tokenizer.marks
bgt | --heads 3 | num_attention_heads
bgt | --state_size 7 | model.state_size
bgt | --latent_at [here] | latent_at
bgt | --translates [de] | 'de'
bgt | --reconstructs [] | has_language_variables
bgt | --development held_out --held_out 0 | data.held_out
bgt | --variational false --kl_weight 0.5 | model.variational
bgt | --aggressive true | training.aggressive
bgt | --aggressive true --development held_out --decoders_first 9 | training.decoders_first
bgt | --encoder lstm | model.encoder_layers
bgt | --encoder average | model.encoder_layers
bgt | --decoder lstm --decoder_layers 2 | model.decoder_layers
bgt | --candidates 0 | training.candidates
bgt | --contrastive 1 --translates [fr] --reconstructs [en] | training.contrastive
gated_conv | --heads 2 | model.heads
gated_conv | --kernel_width 2 | kernel_width
gated_conv | --marks both | tokenizer.marks
gated_conv | --max_length 65 | data.max_length
gated_conv | --average 3 --keep_checkpoints 2 | run.keep_checkpoints
gated_conv | --anneal 0.1 | run.development
gated_conv | --anneal_from 2 | training.anneal_from
gated_conv | --run.development bleu --held_out 0 | data.held_out
marian | --kernel_width 3 | model.kernel_width
marian | --hidden_size 33 | 33
marian | --tie false | model.tie
scpn | --heads 2 | model.heads
scpn | --model.kind marian --copy false | model.copy
scpn | --model.kind paraphraser | model.template
scpn | --writes parse | model.template
bart | --tie true | model.tie
scpn | --marks both | tokenizer.marks
parse_generator | --bpe codes | data.bpe
scpn | --held_out 0 | data.held_out
minimum_risk | --beams 3 | candidates.beams
minimum_risk | --beams 8 --search sample | candidates.beams
minimum_risk | --cost.name a:b | cost.name
minimum_risk | --limits 1 0 | cost.limits
minimum_risk | --held_out 0 | data.held_out
minimum_risk | --anneal 0.1 --development none | run.development
minimum_risk | --anneal_from 2 | training.anneal_from
minimum_risk | --gamma 1 | training.gamma
minimum_risk | --start null | --start
""",
    DataError: """
word | --vocab_size 9999 --hard_vocab_limit true | 9999
sentiment | --vocab_size 900 --hard_vocab_limit true | 900
relatedness | --task.scores 1 4 | task.scores
relatedness | --task.dataset.name sik | 'sik'
sentiment | --task.dataset.name mr --task.dataset.config null --task.dataset.data_dir sst | mr
tagging | --task.dataset.name europarl --task.dataset.config en-fr | europarl
tagging | --task.tags labels | 'labels'
parsing | --task.dataset.name treebank | treebank
language_model | --language fr | 'fr'
language_model | --held_out 100 | data.held_out
gated_conv | --target_language de | (de)
bgt | --held_out 100 | data.held_out
""",
    ModelError: """
relatedness | --start runs/none | runs/none
mgt | --start runs/none | runs/none
word | --start runs/none | runs/none
minimum_risk | --start english | english
""",
}
ROWS = [
    (error, *(cell.strip() for cell in row.split(" | ")))
    for error, table in TABLES.items()
    for row in table.strip().splitlines()
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_supervised(tmp_path_factory.mktemp("data"))


@pytest.mark.parametrize(("error", "name", "options", "key"), ROWS)
def test_an_invalid_setting_is_refused(
    error: type[ParaphrasticError], name: str, options: str, key: str, data: Path, tmp_path: Path
) -> None:
    text = {**FAMILIES, **OTHERS}[name]
    with pytest.raises(error, match=re.escape(key)):
        trained(tmp_path, text, *shlex.split(options), data_root=data)
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
def test_an_invalid_recipe_is_refused(text: str, key: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=re.escape(key)):
        trained(tmp_path, text)


PLAIN = ("gated_conv", "minimum_risk", "bgt", "scpn", "language_model")


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        *((name, *pair) for name in PLAIN for pair in (("weight", "2"), ("swap", "true"))),
        ("distillation", "swap", "true"),
    ],
)
def test_a_source_key_without_effect_is_refused(
    name: str, key: str, value: str, tmp_path: Path
) -> None:
    path = written(tmp_path, {**FAMILIES, **OTHERS}[name])
    with pytest.raises(RecipeError, match=rf"{key} of pairs.tsv"):
        load_recipe(path, ["--sources", f"[{{path: pairs.tsv, {key}: {value}}}]"])
    load_recipe(path, ["--sources", "[{path: pairs.tsv, weight: 1, swap: false}]"])  # defaults


def test_a_dataset_key_without_effect_is_refused(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, FAMILIES["gated_conv"])
    given = SourceArguments("rows", languages=["en", "fr"], swap=True)
    with pytest.raises(RecipeError, match="swap of rows"):
        read_sources(recipe, tmp_path, [([{"a": "a cat", "b": "un chat"}], given)])
