import errno
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from huggingface_hub import ModelCard, constants, parse_eval_result_entries

from paraphrastic_hf import SentenceEncoder, evaluate, packaged_model
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.encoders.storage.locate import ASSETS
from paraphrastic_hf.errors import BusyError, DiskError, ModelError, PublishError
from paraphrastic_hf.evaluation.report import write_report
from paraphrastic_hf.hub import results
from paraphrastic_hf.hub.cards import PACKAGED, ModelDetails
from paraphrastic_hf.hub.licenses import SourceLicense, checked_license, source_licenses
from paraphrastic_hf.hub.publish import publish
from paraphrastic_hf.hub.source_lists import release_class
from paraphrastic_hf.hub.trained import TrainedModel
from paraphrastic_hf.io.locks import locked
from paraphrastic_hf.io.send import find_leaks
from paraphrastic_hf.metrics.install import MODULE, PLACE, SPACE_FILES
from tests.evaluation.sts_files import write_sts
from tests.hub.families import hub_of, offline
from tests.hub.server import Fault, account, pointing, running

# huggingface_hub uploads large files with a deprecated call of its HTTP library
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")

OPEN = ModelDetails(source_licenses={"pairs.tsv": "cc0-1.0"}, hide_paths=True)
KEY = "models/me/word"


@pytest.fixture
def hub(tmp_path):
    with hub_of(tmp_path / "home") as running:
        yield running


@pytest.fixture(scope="module")
def scores(models, tmp_path_factory):
    """Results of `paraphrastic evaluate --output` for a tiny model."""
    folder = tmp_path_factory.mktemp("scores")
    write_sts(folder / "eval")
    encoder = SentenceEncoder.from_pretrained(models("word"))
    write_report(evaluate(encoder, "sts", folder / "eval", name="word"), folder / "out")
    return folder / "out"


def test_a_dry_run_writes_the_files_without_network(models, hub, tmp_path, capsys):
    out = tmp_path / "out"
    options = ["--dry-run", str(out), "--source-license", "pairs.tsv=cc0-1.0", "--hide-paths"]
    assert main(["publish", "model", str(models("word")), "me/word", *options]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert hub.requests == []
    names = {path.name for path in out.iterdir()}
    assert names >= {"README.md", "model.safetensors", "recipe.yaml", "run.json", "training.png"}
    assert not names & {"checkpoints", "logs", "work"}
    assert str(models.folder) not in (out / "recipe.yaml").read_text()
    assert str(models.folder) not in (out / "run.json").read_text()
    original = (models("word") / "recipe.yaml").read_text()
    assert "pairs.tsv" in original
    assert original != (out / "recipe.yaml").read_text()
    card = ModelCard.load(out / "README.md")
    assert card.data.license == "cc-by-sa-4.0"
    assert "| pairs.tsv | 60 | cc0-1.0 |" in card.text
    assert main(["publish", "model", str(models("word")), "me/word", *options]) == 2
    assert str(out) in capsys.readouterr().err


def test_one_process_at_a_time_writes_a_dry_run(tmp_path):
    out = tmp_path / "out"
    with locked(out), pytest.raises(BusyError):
        publish("space", write_space(tmp_path / "space"), "me/mine", dry_run=out)
    publish("space", tmp_path / "space", "me/mine", dry_run=out)
    assert (out / "app.py").exists()


@pytest.mark.parametrize("name", ["README.md", "tokenizer.json", "tokenizers"])
def test_a_link_out_of_a_model_is_refused(name, models, tmp_path):
    folder, outside = tmp_path / "model", tmp_path / "outside"
    shutil.copytree(models("word"), folder)
    outside.mkdir()
    (outside / "tokenizer.json").write_text("mine alone")
    target = outside if name == "tokenizers" else outside / "tokenizer.json"
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target)
    if name == "README.md":  # publish replaces it
        encoder = SentenceEncoder.from_pretrained(folder)
        with running() as hub, pointing(hub, tmp_path / "home", token="hf_write"):
            with pytest.raises(PublishError):
                encoder.push_to_hub("me/word")
            assert not any(hub.repositories.values())
    else:
        with pytest.raises(PublishError):
            publish("model", folder, "me/word", details=OPEN, dry_run=tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_links_in_a_space_are_followed_within_it(tmp_path):
    folder = write_space(tmp_path / "space")
    (folder / "same.py").symlink_to("app.py")
    publish("space", folder, "me/mine", dry_run=tmp_path / "out")
    assert (tmp_path / "out" / "same.py").read_text() == (folder / "app.py").read_text()
    (folder / "hosts").symlink_to("/etc/hosts")
    with pytest.raises(PublishError):
        publish("space", folder, "me/mine", dry_run=tmp_path / "second")


def test_links_of_a_snapshot_are_followed(models, tmp_path):
    snapshot, blobs = tmp_path / "cache" / "snapshots" / "1", tmp_path / "cache" / "blobs"
    shutil.copytree(models("word"), blobs)
    snapshot.mkdir(parents=True)
    for path in (path for path in blobs.iterdir() if path.is_file()):
        (snapshot / path.name).symlink_to(path)
    (snapshot / "tokenizers").mkdir()
    (snapshot / "tokenizers" / "notes.txt").write_text("mine alone")  # not part of a model
    publish("model", snapshot, "me/word", details=OPEN, dry_run=tmp_path / "out")
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))
    assert not list((tmp_path / "out").rglob("notes.txt"))


@pytest.mark.slow
def test_foreign_code_needs_permission(models, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(models("word"), folder)
    changed, foreign = folder / code_file(folder), folder / "paraphrastic_evil.py"
    own = changed.read_text()
    changed.write_text("import os\n")
    publish("model", folder, "me/word", details=OPEN, dry_run=tmp_path / "out")
    assert (tmp_path / "out" / changed.name).read_text() == own
    for place in (foreign, folder / "tokenizers" / "0" / foreign.name):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("import os\n")
        with pytest.raises(PublishError):
            publish("model", folder, "me/word", details=OPEN, dry_run=tmp_path / "second")
        allowed = replace(OPEN, allow_code=True)
        publish("model", folder, "me/word", details=allowed, dry_run=tmp_path / "third")
        for path in (changed, place):
            assert (tmp_path / "third" / path.relative_to(folder)).read_text() == "import os\n"
        shutil.rmtree(tmp_path / "third")
        place.unlink()


@pytest.mark.slow
def test_code_of_an_earlier_version_is_replaced(models, tmp_path):
    folder, out = tmp_path / "model", tmp_path / "out"
    shutil.copytree(models("word"), folder)
    now, earlier = code_file(folder), "paraphrastic_models_averaging.py"
    (folder / now).rename(folder / earlier)
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace(now[:-3], earlier[:-3]))
    publish("model", folder, "me/word", details=OPEN, dry_run=out)
    assert code_file(out) == now
    assert (out / now).is_file()
    assert not (out / earlier).exists()


def code_file(folder):
    """The file of a model's class, from its config."""
    config = json.loads((folder / "config.json").read_text())
    return str(config["auto_map"]["AutoModel"]).split(".")[0] + ".py"


def test_scores_are_published(models, scores, hub, monkeypatch):
    measured = json.loads((scores / "sts.json").read_text())
    assert results.result_files([measured]) == {}  # not the number of rows of a benchmark
    row = next(it for it in measured["rows"] if (it["group"], it["name"]) == ("STS-B", "test"))
    place = ("STS-B", "test", "spearman")
    known = ("mteb/stsbenchmark-sts", "STSBenchmark", row["size"])
    monkeypatch.setattr(results, "BENCHMARKS", {place: known})
    given = {"evaluation": scores, "summary": "A small one.", "datasets": ["me/pairs"]}
    details = ModelDetails(**{**vars(OPEN), **given, "base_model": ["me/older"]})
    publish("model", models("word"), "me/word", details=details)
    pushed = hub.repositories[KEY]
    card = ModelCard(pushed["README.md"].decode())
    found = {result.dataset_config: result for result in card.data.eval_results or []}
    assert found.keys() == measured["headline"].keys()
    for name, value in measured["headline"].items():
        assert found[name].metric_value == pytest.approx(value, abs=1e-4)
    assert found["MTEB"].metric_type == "spearmanr"
    assert found["2012"].metric_type == "pearson"
    assert card.data.datasets == ["me/pairs"]
    assert card.data.base_model == ["me/older"]
    assert "A small one." in card.text
    assert "![sts](sts.png)" in card.text
    assert pushed["sts.png"].startswith(b"\x89PNG")
    (entry,) = parse_eval_result_entries(yaml.safe_load(pushed[".eval_results/sts.yaml"]))
    assert (entry.dataset_id, entry.task_id) == known[:2]
    assert entry.value == pytest.approx(row["scores"]["spearman"], abs=1e-4)


@pytest.mark.parametrize(
    ("license", "allows"),
    [
        ("CC BY 3.0 US (PPDB)", "open"),
        ("CC BY-SA 3.0 (Wikipedia)", "share-alike"),
        ("CC BY-SA", "share-alike"),
        ("cc-by-4.0", "open"),
        ("MIT", "open"),
        ("CC BY-NC-SA 3.0", "non-commercial"),
        ("non-commercial, a sample of LDC99T42", "non-commercial"),
        ("CC BY 4.0; the references are CzEng's (non-commercial)", "non-commercial"),
        ("cc-by-nd-4.0", "no-derivatives"),
        ("none stated", "unstated"),
        ("yours", "unstated"),
        ("MIT (collection); each set has its authors' terms", "unstated"),
    ],
)
def test_release_class_by_hand(license, allows):
    assert release_class(license) == allows


def source(release):
    return SourceLicense(f"{release}.tsv", "its license", release)


def test_the_sources_decide_the_license():
    assert checked_license([source("open")], None, private=False) == "cc-by-sa-4.0"
    assert checked_license([source("open")], "mit", private=False) == "mit"
    assert checked_license([source("unstated")], None, private=True) is None
    with pytest.raises(PublishError, match=r"share-alike\.tsv.*mit"):
        checked_license([source("open"), source("share-alike")], "mit", private=False)
    for release in ("unstated", "non-commercial", "no-derivatives"):
        with pytest.raises(PublishError, match=f"{release}.tsv"):
            checked_license([source("open"), source(release)], None, private=False)
        with pytest.raises(PublishError):
            checked_license([source(release)], "mit", private=True)
    with pytest.raises(PublishError):
        checked_license([], None, private=False)


def test_unlicensed_sources_require_a_private_repository(models, hub):
    with pytest.raises(PublishError):
        publish("model", models("word"), "me/word", details=ModelDetails(hide_paths=True))
    with pytest.raises(PublishError):
        publish("model", models("relatedness"), "me/sick")
    stated = ModelDetails(source_licenses={"pears.tsv": "mit"})
    with pytest.raises(PublishError):
        publish("model", models("word"), "me/word", details=stated)
    assert hub.repositories == {}
    publish("model", models("relatedness"), "me/sick", private=True)
    assert "models/me/sick" in hub.repositories
    assert "models/me/sick" not in hub.public


def test_changed_weights_are_refused(models, hub, tmp_path):
    folder = tmp_path / "mine"
    shutil.copytree(models("word"), folder)
    SentenceEncoder.from_pretrained(models("sentencepiece")).save_pretrained(folder)
    with pytest.raises(PublishError):
        publish("model", folder, "me/word", details=OPEN)
    (folder / "model.safetensors").unlink()
    with pytest.raises(PublishError):
        publish("model", folder, "me/word", details=OPEN)
    assert KEY not in hub.repositories
    SentenceEncoder.from_pretrained(models("word")).save_pretrained(folder)
    publish("model", folder, "me/word", details=OPEN)  # the same weights again
    assert KEY in hub.repositories


def test_sources_of_earlier_models_count(models, tmp_path):
    run = TrainedModel.read(models("word"))
    stated = {"pairs.tsv": "cc0-1.0"}
    from_english = replace(run, recipe={**run.recipe, "start": "english"})
    found = source_licenses(from_english, stated=stated)
    assert [it.release for it in found] == ["open", "share-alike"]
    assert found[1].name == "the packaged model english"
    earlier = replace(run, recipe={**run.recipe, "start": str(models("relatedness"))})
    found = source_licenses(earlier, stated=stated)
    assert [(it.name, it.release) for it in found] == [
        ("pairs.tsv", "open"),
        ("sick", "non-commercial"),
    ]
    gone = replace(run, recipe={**run.recipe, "start": str(tmp_path / "gone")})
    assert [it.release for it in source_licenses(gone, stated=stated)] == ["open", "unstated"]


@pytest.mark.slow
def test_a_packaged_model_has_the_license_of_its_card(hub):
    publish("model", "english", "me/english")
    pushed = hub.repositories["models/me/english"]
    card = ModelCard(pushed["README.md"].decode())
    assert card.data.license == "cc-by-sa-4.0"
    assert card.data.language == ["en"]
    assert "| train/en-en/bible_versions.tsv.xz | 118,367 | public domain / CC0 |" in card.text
    text = " ".join(card.text.split())
    assert all(said in text for said in PACKAGED["english"])
    assert card.data.base_model == ["sentence-transformers/all-MiniLM-L6-v2"]
    assert "distilled from sentence-transformers/all-MiniLM-L6-v2" in text
    assert "SentenceTransformer(model).float().encode" in card.text
    code = json.loads(pushed["config.json"])["auto_map"]
    assert code["AutoModel"] == "paraphrastic_models_encoders_averaging.AveragingModel"
    assert "paraphrastic_models_encoders_averaging.py" in pushed
    assert pushed["model.safetensors"] == (packaged_model() / "model.safetensors").read_bytes()


def test_absolute_paths_are_refused_or_shortened(models, hub):
    stated = ModelDetails(source_licenses=OPEN.source_licenses)
    with pytest.raises(PublishError):
        publish("model", models("word"), "me/word", details=stated)
    assert hub.repositories == {}
    publish("model", models("word"), "me/word", details=OPEN)
    assert b"pairs.tsv" in hub.repositories[KEY]["recipe.yaml"]


CARD = "---\ntitle: Mine\nsdk: gradio\napp_file: app.py\n---\n# Mine\n"


def write_space(folder, program="print(1)\n", card=CARD):
    folder.mkdir()
    (folder / "README.md").write_text(card)
    (folder / "app.py").write_text(program)
    return folder


@pytest.mark.parametrize(
    "leak",
    [
        *("token = 'hf_" + "a" * 34 + "'", "git+https://" + "me:s3cret-word@example.org/x"),
        *("key='sk-" + "a1" * 24 + "'", "OPENAI=sk-proj-" + "a-_1" * 30),
        *("sk-ant-" + "api03-" + "a-_1" * 20, "x glpat-" + "a1B2" * 5, "AIza" + "a1B2-" * 7),
        *("GOCSPX-" + "a1B2" * 7, "npm_" + "a1B2" * 9, "ghp_" + "a" * 36),
        *("//registry.npmjs.org/:_authToken=" + "a1B2" * 9, "pypi-AgEIcHlwaS5vcmc" + "a1B2" * 20),
        *("WANDB_API_KEY=" + "a1b2" * 10, "wandb.login(key='" + "a1b2" * 10 + "')"),
        *("wandb_v1_" + "a1B2" * 10, "key = 'AKIA" + "A" * 16 + "'"),
        *("aws_secret_access_key = " + "a1" * 20, "-----BEGIN RSA PRIVATE" + " KEY-----"),
        *("open('/home/me/pairs.tsv')", r"open('C:\Users\me\pairs.tsv')"),
        *("open('C:/Users/me/pairs.tsv')", "file:///home/me/pairs.tsv", "/lustre/me/pairs.tsv"),
        "/home/jürgen/pairs.tsv",
    ],
)
def test_secrets_and_paths_are_found(leak, tmp_path):
    (tmp_path / "app.py").write_text(f"# fine\n{leak}\n")
    found = find_leaks(tmp_path)[0]
    assert found.startswith("app.py, line 2: ")
    assert "a" * 20 not in found  # secrets must not appear in logs


@pytest.mark.parametrize(
    "name", [".env", ".env.local", ".streamlit/secrets.toml", "id_rsa.bak", ".ssh/config", "a.pem"]
)
def test_a_file_of_secrets_is_not_uploaded(name, hub, tmp_path):
    folder = write_space(tmp_path / "space")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("X=1")
    with pytest.raises(PublishError, match=re.escape(name)):
        publish("space", folder, "me/mine")
    assert hub.repositories == {}


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["a.txt", "a.png", "a.model", "a.safetensors"])
def test_leaks_are_found_in_any_text_encoding(name, encoding, tmp_path):
    text = "# Ünïque\nghp_" + "a1B2" * 9 + "\n/home/me/x\n"
    (tmp_path / name).write_bytes((text).encode(encoding))
    token, path = find_leaks(tmp_path)
    assert "ghp_" in token
    assert path.endswith("/home/me/x")


def test_binary_files_are_searched_for_tokens(tmp_path):
    numbers = np.random.default_rng(0).bytes(2**22)
    (tmp_path / "model.safetensors").write_bytes(b"\x01" + numbers)
    assert find_leaks(tmp_path) == []
    (tmp_path / "model.safetensors").write_bytes(b"\x01" + numbers + b"hf_" + b"a1B2" * 9)
    assert len(find_leaks(tmp_path)) == 1


@pytest.mark.slow
def test_packaged_files_have_no_leaks():
    for folder in (ASSETS, ROOT / "recipes", ROOT / "hub_cards"):
        assert find_leaks(folder) == []


def test_training_records_are_searched_for_any_absolute_path(tmp_path):
    (tmp_path / "recipe.yaml").write_text("path: /eos/me/pairs.tsv\nother: train/a/b.tsv\n")
    text = "# https://example.org/home/me/x and data/home/x, /api/models, ./tmp/x, /or and /eos/x\n"
    (tmp_path / "README.md").write_text(text)
    (leak,) = find_leaks(tmp_path)
    assert leak.startswith("recipe.yaml, line 1")


def bert(folder):
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "bert"}')
    return folder


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("model", bert),
        ("model", write_space),
        ("model", lambda path: "englsh"),
        ("dataset", write_space),
        ("dataset", lambda path: path / "absent"),
        ("metric", write_space),
        ("space", bert),
        ("space", lambda path: write_space(path, card=CARD.replace("app.py", "x.py"))),
        ("spice", bert),
    ],
)
def test_a_folder_of_another_kind_is_refused(kind, make, hub, tmp_path):
    with pytest.raises(ModelError):
        publish(kind, make(tmp_path / "folder"), "me/mine")
    assert hub.repositories == {}


def test_a_metric_is_named_after_its_script(hub):
    with pytest.raises(PublishError):
        publish("metric", "simile", "me/similarity")
    publish("metric", "simile", "me/simile")
    pushed = hub.repositories["spaces/me/simile"]
    assert pushed.keys() == set(SPACE_FILES)
    card = pushed["README.md"].decode()
    assert 'evaluate.load("me/simile")' in card
    assert PLACE not in card
    assert PLACE in (MODULE / "README.md").read_text()


ACCOUNTS = {"hf_write": account("me", orgs=["ours"]), "hf_read": account("me", role="read")}


@pytest.mark.parametrize(
    ("token", "repository", "said"),
    [
        (None, "me/mine", "HF_TOKEN"),
        ("hf_nobody", "me/mine", "HF_TOKEN"),
        ("hf_read", "me/mine", "read-only"),
        ("hf_write", "you/mine", "you/mine"),
        ("hf_write", "me/mi ne", "'me/mi ne'"),
    ],
)
def test_missing_permissions_are_refused(token, repository, said, tmp_path):
    folder = write_space(tmp_path / "space")
    with (
        running(accounts=ACCOUNTS) as hub,
        pointing(hub, tmp_path / "home", token=token),
        pytest.raises(PublishError, match=said) as error,
    ):
        publish("space", folder, repository)
    assert hub.repositories == {}
    assert len(str(error.value)) < 250


def test_the_token_is_checked_before_saving(tmp_path, monkeypatch):
    encoder = SentenceEncoder.from_pretrained()
    monkeypatch.setattr(SentenceEncoder, "save_pretrained", lambda *_: pytest.fail("saved"))
    with (
        running(accounts=ACCOUNTS) as hub,
        pointing(hub, tmp_path, token="hf_read"),
        pytest.raises(PublishError),
    ):
        encoder.push_to_hub("me/mine")


def test_an_unreachable_hub_suggests_a_dry_run(hub, tmp_path, monkeypatch):
    folder = write_space(tmp_path / "space")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # an unused port
    with pytest.raises(PublishError):
        publish("space", folder, "me/mine")
    with offline(), pytest.raises(PublishError):
        publish("space", folder, "me/mine")


def test_private_files_are_not_published(hub, tmp_path):
    folder = write_space(tmp_path / "space")
    publish("space", folder, "me/mine")
    assert "spaces/me/mine" in hub.public
    with pytest.raises(PublishError):
        publish("space", folder, "me/mine", private=True)
    publish("space", folder, "other", private=True)  # without an owner, the account's own
    assert "spaces/me/other" in hub.repositories.keys() - hub.public


def test_publishing_again_replaces_files(models, hub):
    publish("model", models("word"), "me/word", details=OPEN)
    hub.repositories[KEY] |= {"spiece.model": b"old", ".eval_results/old.yaml": b"", "own.txt": b""}
    commit = publish("model", models("word"), "me/word", details=OPEN, message="Again")
    assert commit.startswith(f"{hub.address}/me/word/commit/")
    pushed = hub.repositories[KEY]
    assert not {"spiece.model", ".eval_results/old.yaml"} & pushed.keys()
    assert "own.txt" in pushed  # files added by others stay


def test_branches_and_pull_requests_do_not_change_main(hub, tmp_path):
    folder = write_space(tmp_path / "space")
    with pytest.raises(PublishError):
        publish("space", folder, "me/mine", pull_request=True)
    publish("space", folder, "me/mine")
    before = dict(hub.repositories["spaces/me/mine"])
    (folder / "app.py").write_text("print(2)\n")
    publish("space", folder, "me/mine", revision="next")
    assert hub.repositories["spaces/me/mine@next"]["app.py"] == b"print(2)\n"
    address = publish("space", folder, "me/mine", pull_request=True)
    assert address == f"{hub.address}/spaces/me/mine/discussions/1"
    assert hub.repositories["spaces/me/mine@refs/pr/1"]["app.py"] == b"print(2)\n"
    assert hub.repositories["spaces/me/mine"] == before
    with pytest.raises(PublishError):
        publish("space", folder, "me/mine", pull_request=True, revision="next")


@pytest.mark.parametrize("kind", ["500", "cut"])
def test_an_upload_survives_server_errors(kind, models, hub):
    hub.faults = [Fault("PUT /lfs", kind)]
    publish("model", models("word"), "me/word", details=OPEN)
    assert hub.faults[0].times == 0
    weights = (models("word") / "model.safetensors").read_bytes()
    assert hub.repositories[KEY]["model.safetensors"] == weights


SLOW = [pytest.param(place, marks=pytest.mark.slow) for place in ("preupload", "objects/batch")]


@pytest.mark.parametrize("place", ["create", "commit", *SLOW])
def test_a_broken_upload_is_resumed(place, models, hub):
    hub.faults = [Fault(f"POST .*/{place}", "500", 10**6)]
    with pytest.raises(PublishError):
        publish("model", models("word"), "me/word", details=OPEN)
    assert not hub.repositories.get(KEY)
    sent = sum("PUT" in request for request in hub.requests)
    hub.faults, hub.requests = [], []
    publish("model", models("word"), "me/word", details=OPEN)
    assert any("PUT" in request for request in hub.requests) == (not sent)
    assert "model.safetensors" in hub.repositories[KEY]


def test_a_concurrent_commit_is_not_overwritten(hub, tmp_path):
    folder = write_space(tmp_path / "space")
    publish("space", folder, "me/mine")
    (folder / "app.py").write_text("print(2)\n")
    files = hub.repositories["spaces/me/mine"]
    hub.faults = [Fault("POST .*/preupload", "none", then=lambda: files.update(other=b"1"))]
    with pytest.raises(PublishError):
        publish("space", folder, "me/mine")
    assert files["app.py"] == b"print(1)\n"


def test_model_options_are_only_for_models(tmp_path, capsys):
    folder = str(write_space(tmp_path / "space"))
    assert main(["publish", "space", folder, "me/mine", "--license", "mit"]) == 2
    assert "--license" in capsys.readouterr().err
    assert main(["publish", "model", folder, "me/mine", "--source-license", "mit"]) == 2
    assert "'mit'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../../x.spm", "/etc/x", "..\\..\\x", "x\0y"])
def test_a_file_name_outside_the_repository_is_refused(name, models, hub, tmp_path):
    publish("model", models("word"), "me/word", details=OPEN)
    hub.repositories[KEY][name] = b"out"
    cache = tmp_path / "cache" / "of" / "models"
    with pytest.raises(ModelError):
        SentenceEncoder.from_pretrained("me/word", cache_dir=cache)
    assert not list(tmp_path.glob("x*"))


def test_a_killed_dry_run_can_be_repeated(tmp_path, monkeypatch):
    space, out = tmp_path / "space", tmp_path / "out"
    space.mkdir()
    (space / "README.md").write_text("---\nsdk: static\n---\n")

    def fail(*_):
        assert not any(out.iterdir())
        raise OSError(errno.ENOSPC, "No space left on device", str(space / "README.md"))

    with monkeypatch.context() as patch:
        patch.setattr("paraphrastic_hf.hub.publish.copy_files", fail)
        with pytest.raises(DiskError) as error:
            publish("space", space, "me/space", dry_run=out)
    assert str(space) not in str(error.value)
    assert not out.exists()
    (tmp_path / "out.part").mkdir()
    (tmp_path / "out.part" / "half").touch()
    publish("space", space, "me/space", dry_run=out)
    assert [path.name for path in out.iterdir()] == ["README.md"]
