import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.metrics import install
from paraphrastic_hf.metrics.install import SCRIPT, install_metric
from paraphrastic_hf.metrics.scorer import SimileScorer
from tests import fresh
from tests.hub.server import environment, folder_files, running
from tests.texts import SENTENCES

OFFLINE = """
import json, os, socket, sys

class NoNetwork(socket.socket):
    def connect(self, *_):
        raise AssertionError("the network was asked")
    connect_ex = connect

socket.socket = NoNetwork
import evaluate
import paraphrastic_hf.metrics.install as install

home = os.environ["HF_HOME"]
def files():
    return sorted(os.path.join(d, f) for d, _, fs in os.walk(home) for f in fs if f[-4:] != ".pyc")

metric = evaluate.load("simile")
before = files()
result = metric.compute(predictions=["A cat sleeps."], references=["The cat is asleep."])
assert files() == before, set(files()) - set(before)
from pathlib import Path
assert install.modules_cache() == Path(evaluate.config.HF_MODULES_CACHE)
print(json.dumps({"result": result, "file": sys.modules[type(metric).__module__].__file__}))
"""
FROM_SPACE = """
import json, sys
import evaluate
metric = evaluate.load("me/simile")
print(json.dumps(metric.compute(predictions=["A cat sleeps."], references=["The cat is asleep."])))
"""
TWO = """
import json, multiprocessing, sys
import evaluate

script, cache, model, texts = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])

def run(rank, results):
    metric = evaluate.load(
        script, num_process=2, process_id=rank, experiment_id="two", cache_dir=cache, timeout=60
    )
    half = texts[rank * len(texts) // 2 : (rank + 1) * len(texts) // 2]
    metric.add_batch(predictions=half, references=[[text[::-1], texts[0]] for text in half])
    results.put((rank, metric.compute(model=model, segments=True)))

if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    ranks = [fork.Process(target=run, args=(rank, results)) for rank in (0, 1)]
    for rank in ranks:
        rank.start()
    got = [results.get(timeout=90) for _ in ranks]
    for rank in ranks:
        rank.join()
    print(json.dumps(sorted(got, key=lambda item: item[0])))
"""


def run(program: str, *arguments: str, cwd: Path, variables: dict[str, str]) -> Any:
    done = fresh.run(program, *arguments, environment=variables, folder=cwd)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def default_result() -> dict[str, Any]:
    return SimileScorer().score(["A cat sleeps."], ["The cat is asleep."]).to_dict()


@pytest.mark.slow
def test_the_installed_metric_loads_by_name_offline(tmp_path, monkeypatch, capsys):
    """A network connection fails the process, and so does a file that `compute` writes."""
    home = tmp_path / "home"
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.delenv("HF_MODULES_CACHE")
    assert main(["install-metric"]) == 0
    (tmp_path / "elsewhere").mkdir()
    variables = {**os.environ, "HF_EVALUATE_OFFLINE": "1"}
    got = run(OFFLINE, cwd=tmp_path / "elsewhere", variables=variables)
    assert got["result"] == default_result()
    assert got["file"] == capsys.readouterr().out.strip()
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.slow
def test_the_metric_loads_from_a_published_space(tmp_path):
    with running() as hub:
        variables = environment(hub.address, tmp_path / "home")
        variables["HF_MODULES_CACHE"] = str(tmp_path / "modules")
        publishing = "from paraphrastic_hf.hub.publish import publish\n"
        publishing += "import json\nprint(json.dumps(publish('metric', 'simile', 'me/simile')))"
        commit = run(publishing, cwd=tmp_path, variables=variables).rpartition("/")[2]
        at_revision = FROM_SPACE.replace('"me/simile"', f'"me/simile", revision="{commit}"')
        assert run(at_revision, cwd=tmp_path, variables=variables) == default_result()


@pytest.mark.slow
def test_process_0_of_two_gets_the_full_result(saved, tmp_path):
    texts = SENTENCES[:15]
    lists = [[text[::-1], texts[0]] for text in texts]
    expected = SimileScorer(saved).score(texts, lists).to_dict(segments=True)
    arguments = (str(SCRIPT), str(tmp_path / "cache"), str(saved), json.dumps(texts))
    variables = {**os.environ, "HF_HOME": str(tmp_path / "home")}
    got = run(TWO, *arguments, cwd=tmp_path, variables=variables)
    assert got == [[0, expected], [1, None]]


def test_the_cache_follows_evaluates_variables(tmp_path, monkeypatch):
    for name in ("HF_MODULES_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert install.modules_cache() == tmp_path / ".cache" / "huggingface" / "modules"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert install.modules_cache() == tmp_path / "xdg" / "huggingface" / "modules"
    monkeypatch.setenv("HF_HOME", "~/home")
    assert install.modules_cache() == tmp_path / "home" / "modules"
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "own"))
    assert install_metric().is_relative_to(tmp_path / "own")


def test_installing_again_only_makes_the_copy_the_newest(tmp_path):
    """`evaluate` uses the copy that changed last."""
    first = install_metric(tmp_path)
    assert first.parent.name == hashlib.sha256(SCRIPT.read_bytes()).hexdigest()
    assert first.read_bytes() == SCRIPT.read_bytes()
    files = folder_files(tmp_path)
    os.utime(first, (1, 1))
    assert install_metric(str(tmp_path)) == first
    assert folder_files(tmp_path) == files
    assert first.stat().st_mtime > 1


def test_an_unwritable_folder_is_an_error(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["install-metric", "--cache", str(tmp_path / "file" / "cache")]) == 2
    assert "install-metric" in capsys.readouterr().err
