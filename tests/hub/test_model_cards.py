import json
import lzma
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from paraphrastic_hf import SentenceEncoder, evaluate, train
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.errors import DataError, ModelError, PublishError
from paraphrastic_hf.evaluation.registry import SUITES
from paraphrastic_hf.evaluation.report import write_report
from paraphrastic_hf.hub.cards import SELECTION, ModelDetails, full_card
from paraphrastic_hf.hub.results import MULTILINGUAL, for_languages
from paraphrastic_hf.hub.trained import TrainedModel
from paraphrastic_hf.training import kinds
from paraphrastic_hf.training.kinds import load_contrastive
from tests.evaluation.sts_files import write_sts

PAIRS = Path(__file__).parents[2] / "recipes" / "demo" / "pairs.tsv"
SOURCE = "train/en-en/demo.tsv.xz"
SMALL = ["--vocab_size", "250", "--hidden_size", "8", "--batch_size", "8", "--epochs", "1"]
SMALL += ["--mega_batch", "1", "--development", "none"]


@pytest.fixture
def root(tmp_path):
    """A data root with one open source and tiny STS files."""
    root = tmp_path / "data"
    (root / "train" / "en-en").mkdir(parents=True)
    (root / SOURCE).write_bytes(lzma.compress(PAIRS.read_bytes()))
    (root / "train" / "SOURCES.tsv").write_text(
        "pair\tsource\tpairs\tcolumns\tbytes\trelease\tlicense\tdomain\n"
        "en-en\tdemo\t60\t2\t1\topen\tCC0\teveryday\n"
        "en-en\tsecret\t60\t2\t1\tresearch\tnone stated\teveryday\n"
    )
    write_sts(root / "eval")
    return root


def evaluated(root, *overrides, source=SOURCE):
    """A small finished run next to the data, with its scores."""
    path, output = root / "recipe.yaml", root / "small"
    path.write_text(f"data: {{sources: [{json.dumps(source)}]}}")
    recipe = load_contrastive(path, [*SMALL, *overrides])
    train(recipe, output, data_root=root, progress=False)
    score(SentenceEncoder.from_pretrained(output), root)
    return output


def score(encoder, root):
    write_report(evaluate(encoder, "sts", root / "eval", name="small"), root / "evaluation")


def card_of(model, root):
    details = ModelDetails(
        evaluation=root / "evaluation", data_root=root, summary="A small one.", languages=["en"]
    )
    trained, command = TrainedModel.read(model), "paraphrastic train recipe.yaml"
    title = f"paraphrastic {trained.name}"
    shown = {"title": title, "checksums": root, "command": command}
    return full_card(trained, details, indexed=["sts"], **shown)[0]


def test_the_card_states_the_run(root):
    text = card_of(evaluated(root), root)
    front = yaml.safe_load(text.split("---")[1])
    assert front["license"] == "cc-by-sa-4.0"
    digest = sha256((root / SOURCE).read_bytes()).hexdigest()
    assert f"| {SOURCE} | 60 | CC0 | `{digest}` |" in text
    assert "Seed 1, 8 steps, 60 examples" in text
    assert "\n\n| source |" in text  # Markdown needs the empty line
    assert "| **small** |" in text
    assert 'model = "small"' in text
    assert "A small one." in text
    assert SELECTION["none"] in text


def test_the_main_scores_follow_the_code(root):
    text = card_of(evaluated(root), root)
    parts = ["## Use", "| STS 2012-2016 |", "## Limits", "## Training", "| source |", "### sts"]
    assert sorted(parts, key=text.index) == parts
    results = json.loads((root / "evaluation" / "sts.json").read_text())
    assert f"| STS-B test | {results['headline']['STS-B test']:.1f} | **82.7** |" in text
    measured = yaml.safe_load(text.split("---")[1])["model-index"][0]["results"]
    assert len(measured) == len(results["headline"])


def test_the_card_of_an_english_model_has_only_english_scores(root):
    evaluated(root)
    results = json.loads((root / "evaluation" / "sts.json").read_text())
    suites = [results, {**results, "suite": "bucc"}]
    assert for_languages(suites, ["en", "fr"]) == suites
    (english,) = for_languages(suites, ["en"])
    tracks = [row["name"] for row in english["rows"] if row["group"] == "STS17"]
    assert tracks == ["en-en"]
    assert set(MULTILINGUAL) <= set(SUITES)


def test_the_command_writes_the_card(root, capsys):
    model = evaluated(root, "--tokenizer.kind", "word", "--model.kind", "recurrent")
    results = json.loads((root / "evaluation" / "sts.json").read_text())
    (root / "evaluation" / "mine.json").write_text(json.dumps({**results, "suite": "mine"}))
    options = ["--evaluation", str(root / "evaluation"), "--data", str(root)]
    options += ["--command-line", "paraphrastic train recipe.yaml", "--summary", "A small one."]
    main(["card", str(model), *options])
    assert capsys.readouterr().out.strip() == str(model / "README.md")
    text = (model / "README.md").read_text()
    assert text == card_of(model, root)
    assert "### mine" in text
    assert "mine STS-B test" not in text.split("---")[1]
    assert "SentenceTransformer(model, trust_remote_code=True)" in text


def test_licenses_are_checked_without_counts_by_source(root):
    model = evaluated(root)
    run = json.loads((model / "run.json").read_text())
    del run["pairs_by_source"]
    (model / "run.json").write_text(json.dumps(run))
    assert f"| {SOURCE} | CC0 |" in card_of(model, root)
    recipe = (model / "recipe.yaml").read_text()
    (model / "recipe.yaml").write_text(recipe.replace("demo", "mine"))
    with pytest.raises(PublishError, match=r"train/en-en/mine\.tsv\.xz"):
        card_of(model, root)
    (model / "recipe.yaml").write_text("kind: generative\nseed: 1\n")
    with pytest.raises(PublishError):
        card_of(model, root)


def test_a_language_model_has_only_a_run_card(root):
    recipe = root / "language-model.yaml"
    recipe.write_text(
        f"kind: language_model\ndata: {{sources: [{root / SOURCE}], held_out: 0}}\n"
        "tokenizer: {kind: word, vocab_size: 200}\ntraining: {epochs: 1, steps: 1}\n"
        "model: {hidden_size: 8, heads: 2, feed_forward: 16, layers: 1}\n"
    )
    train(kinds.load_recipe(recipe), root / "language-model", data_root=root, progress=False)
    with pytest.raises(ModelError):
        card_of(root / "language-model", root)
    card = (root / "language-model" / "README.md").read_text()
    assert "Perplexity" not in card


def test_an_unfinished_run_has_no_card(root):
    with pytest.raises(ModelError):
        card_of(root, root)


def test_scores_of_other_weights_are_refused(root):
    model = evaluated(root)
    score(SentenceEncoder.from_pretrained(model).with_norm_power(0.5), root)
    with pytest.raises(DataError):
        card_of(model, root)
