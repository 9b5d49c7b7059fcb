import os
import subprocess
import sys
import threading

import pytest

from paraphrastic_hf.cli.main import main
from paraphrastic_hf.errors import DiskError, disk_error

FULL = "/dev/full"
COMMANDS = {
    "encode": "encode english TEXT --output OUT.npy",
    "encode to parquet": "encode english TEXT --output OUT/",
    "mine": "mine english TEXT OTHER --output OUT.tsv",
    "convert": "convert VECTORS --output OUT",
    "pack": "pack english --output OUT",
    "train": "train own --sources PAIRS --output OUT --quiet",
    "corpus make": "corpus make RECIPE --output OUT --quiet",
    "simile": "simile --references TEXT --systems OTHER --segments --output OUT.json",
    "compare": "compare --references TEXT --systems OTHER TEXT --output OUT",
}
QUICK = {"encode", "mine", "pack", "simile"}
PRINTING = {
    "encode": "encode english TEXT --output -",
    "neighbors": "neighbors english TEXT --query cat",
    "score": "score english PAIRS",
    "simile": "simile --references TEXT --systems OTHER",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    count = 2000
    texts = {
        "TEXT": "".join(f"the cat number {n} sat on the mat {n * 7}\n" for n in range(count)),
        "OTHER": "".join(f"a cat {n} sits on a mat {n * 7}\n" for n in range(count)),
        "PAIRS": "".join(f"the cat number {n} sat\ta cat {n} was sitting\n" for n in range(count)),
        "VECTORS": "".join(f"w{n} " + "0.25 " * 50 + "1\n" for n in range(400)),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    make = "make: {tasks: 1, workers: 1, block: 500}"
    recipe = f"kind: corpus\ndata: {{sources: [{folder / 'PAIRS'}]}}\nsteps: [duplicates]\n{make}\n"
    (folder / "RECIPE").write_text(recipe)
    return {name: str(folder / name) for name in (*texts, "RECIPE")}


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"cannot mount a disk: {error}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def filled(command, files, output=""):
    words = [word.replace("OUT", output) for word in command.split()]
    return [files.get(word, word) for word in words]


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in COMMANDS],
)
def test_a_command_names_the_file_and_the_full_disk(name, disk, files, capfd):
    assert main(filled(COMMANDS[name], files, str(disk / "out"))) == 2
    said = capfd.readouterr().err
    assert "Traceback" not in said
    message = said.splitlines()[-1]
    assert str(disk / "out") in message
    assert name == "corpus make" or not list(disk.rglob("*.part"))


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists(FULL), reason="/dev/full does not exist")
@pytest.mark.parametrize("name", PRINTING)
def test_a_command_that_prints_to_a_full_disk_fails(name, files):
    command = [sys.executable, "-m", "paraphrastic_hf.cli.main", *filled(PRINTING[name], files)]
    with open(FULL, "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert FULL in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("library", ["numpy", "safetensors", "torch"])
def test_disk_errors_of_libraries_are_recognized(library, disk):
    import numpy as np
    import torch
    from safetensors.numpy import save_file

    many, path = np.ones(100_000), disk / "many"
    save = {
        "numpy": lambda: many.tofile(path),
        "safetensors": lambda: save_file({"a": many}, path),
        "torch": lambda: torch.save(torch.tensor(many), path),
    }
    with pytest.raises(Exception, match=r".") as caught:
        save[library]()
    found = disk_error(caught.value, path)
    assert isinstance(found, DiskError)
    assert str(disk) in str(found)


def test_disk_errors_in_threads_are_not_printed(files, capfd):
    """TensorBoard writes in a thread."""

    def write(error):
        raise error

    hook = threading.excepthook
    try:
        assert main(["score", "english", files["PAIRS"]]) == 0
        for error in (OSError(28, "No space left on device"), ValueError("another")):
            thread = threading.Thread(target=write, args=(error,))
            thread.start()
            thread.join()
    finally:
        threading.excepthook = hook
    said = capfd.readouterr().err
    assert "No space left" not in said
    assert "ValueError: another" in said
