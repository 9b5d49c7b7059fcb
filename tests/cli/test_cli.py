"""The command line as a user meets it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from paraphrastic_hf import AveragingConfig, AveragingModel, SentenceEncoder
from paraphrastic_hf.cli import train as train_command
from paraphrastic_hf.cli.main import COMMANDS, main
from paraphrastic_hf.io.blocks import read_blocks
from paraphrastic_hf.text.word import WordTokenizer

DEMO = Path(__file__).parents[2] / "recipes" / "demo"

CACHE = os.path.join(os.path.expanduser("~"), ".cache", "huggingface")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    lines = (DEMO / "pairs.tsv").read_text(encoding="utf-8").replace("\t", "\n").splitlines()
    tokenizer = WordTokenizer.train(lines, vocab_size=400)
    table = AveragingModel(AveragingConfig(vocab_size=tokenizer.vocab_size, hidden_size=32))
    directory = tmp_path_factory.mktemp("cli") / "model"
    SentenceEncoder(table, tokenizer).save_pretrained(directory)
    return str(directory)


def shell(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "paraphrastic_hf.cli.main", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=str)
def test_help_imports_nothing_slow_and_starts_at_once(command: list[str]) -> None:
    program = (
        "import sys\nfrom paraphrastic_hf.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "slow = {'torch', 'transformers', 'datasets', 'pandas', 'scipy'} & set(sys.modules)\n"
        "assert not slow, slow\n"
        "import time\nprint('seconds', time.process_time())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *command, "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "usage: paraphrastic" in done.stdout
    # of the processor, which others on the machine slow down too; the import check is the guard
    assert float(done.stdout.split()[-1]) < 5


def test_encode_writes_an_array_and_keeps_empty_lines(model: str, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes("the cat\n\nthe dog\xff\n".encode("latin-1"))
    assert (
        main(
            [
                "encode",
                model,
                str(tmp_path / "in.txt"),
                "--output",
                str(tmp_path / "out.npy"),
                "--threads",
                "1",
                "--quiet",
            ]
        )
        == 0
    )
    vectors = np.load(tmp_path / "out.npy")
    assert vectors.shape == (3, 32)
    assert vectors.dtype == np.float32
    assert [bool(row.any()) for row in vectors] == [True, False, True]
    assert not (tmp_path / "out.npy.part").exists()


def test_encode_reads_and_writes_streams(model: str) -> None:
    done = shell("encode", model, "-", "--normalize-embeddings", text="the cat\nthe dog\n")
    rows = np.array([[float(x) for x in line.split("\t")] for line in done.stdout.splitlines()])
    np.testing.assert_allclose(
        rows,
        SentenceEncoder.from_pretrained(model).encode(
            ["the cat", "the dog"], normalize_embeddings=True
        ),
        atol=1e-6,
    )


def test_score_puts_the_cosine_before_each_line(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["score", model, str(DEMO / "questions.tsv")]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 4
    assert all(-1 <= float(line[0]) <= 1 and len(line) == 3 for line in lines)


def test_score_names_the_bad_line(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.tsv").write_text("a\tb\nno tab here\n")
    command = ["score", model, str(tmp_path / "p.tsv"), "--output", str(tmp_path / "o.tsv")]
    assert main(command) == 0
    assert "p.tsv:2" in capsys.readouterr().err
    assert (tmp_path / "o.tsv").read_text().splitlines()[1] == "nan\tno tab here"
    (tmp_path / "o.tsv").unlink()
    (tmp_path / "q.tsv").write_text("a\tb\n" + "no tab here\n" * 3)
    for path, options in (("p.tsv", ["--bad-lines", "refuse"]), ("q.tsv", [])):
        assert main([*command[:2], str(tmp_path / path), *command[3:], *options]) == 2
        assert f"{path}:2" in capsys.readouterr().err
        assert not (tmp_path / "o.tsv").exists()


def test_the_nearest_neighbour_of_a_line_is_itself(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        line.split("\t")[0]
        for line in (DEMO / "pairs.tsv").read_text(encoding="utf-8").splitlines()
    ]
    (tmp_path / "corpus.txt").write_text("\n".join(lines) + "\n")
    assert (
        main(
            [
                "neighbours",
                model,
                str(tmp_path / "corpus.txt"),
                "--query",
                lines[17],
                lines[3],
                "--neighbours",
                "2",
            ]
        )
        == 0
    )
    output = capsys.readouterr().out.splitlines()
    assert output[1] == f"  1.0000\t18\t{lines[17]}"
    assert output[4] == f"  1.0000\t4\t{lines[3]}"


def test_a_query_may_be_any_bytes(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "corpus.txt").write_text("the cat\n")
    command = ["neighbours", model, str(tmp_path / "corpus.txt"), "--query", "caf\udce9"]
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("caf\ufffd\n")


@pytest.mark.parametrize("command", ["encode", "score"])
def test_a_folder_is_no_output_and_is_refused_first(
    command: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    name = "out.npy" if command == "encode" else "out"
    (tmp_path / name).mkdir(exist_ok=True)
    given = [command, model, str(DEMO / "pairs.tsv"), "--output", str(tmp_path / name)]
    assert main(given) == 2
    assert f"{name} is a folder; name a file" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.part"))


def test_a_device_is_written_to_and_a_link_followed(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["score", model, str(DEMO / "pairs.tsv"), "--output"]
    (tmp_path / "full").symlink_to("/dev/full")
    assert main([*command, str(tmp_path / "full")]) == 2
    assert "/full" in capsys.readouterr().err
    assert (tmp_path / "full").is_char_device()
    (tmp_path / "link.tsv").symlink_to(tmp_path / "target.tsv")
    assert main([*command, str(tmp_path / "link.tsv")]) == 0
    assert (tmp_path / "link.tsv").is_symlink()
    assert (tmp_path / "target.tsv").stat().st_size > 0


@pytest.mark.parametrize("output", ["v.npy", "v/"])
def test_no_text_is_an_array_of_no_rows(output: str, model: str, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    given = str(tmp_path / output.rstrip("/")) + "/" * output.endswith("/")
    assert main(["encode", model, str(tmp_path / "empty"), "--output", given]) == 0
    if output.endswith("/"):
        assert pyarrow.parquet.read_table(tmp_path / "v").num_rows == 0
    else:
        width = SentenceEncoder.from_pretrained(model).dimension
        assert np.load(tmp_path / output).shape == (0, width)


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n")
    assert list(read_blocks(str(tmp_path / "text"))) == [["a", "\ufeffb"]]


def test_a_misspelt_option_suggests_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["encode", "english", "x.txt", "--ouput", "v.npy"])
    error = capsys.readouterr().err
    assert "paraphrastic encode: error: unrecognized arguments: --ouput" in error
    assert "did you mean --output?" in error


def test_long_lines_make_small_blocks(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a\n" * 50_000 + "b" * 10_000_000 + "\n" + "c\n" * 3)
    blocks = list(read_blocks(str(tmp_path / "text")))
    assert max(map(len, blocks)) == 16_384
    lines = [line for block in blocks for line in block]
    assert [len(line) for line in lines[-5:]] == [1, 10_000_000, 1, 1, 1]
    assert len(lines) == 50_004


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "absent.yaml", "--output", "x"], "there is no recipe 'absent.yaml'"),
        (
            ["train", str(DEMO / "demo.yaml"), "--output", "x", "--margim", "1"],
            "did you mean 'training.margin'?",
        ),
        (
            ["train", str(DEMO / "demo.yaml"), "--output", "x", "--sources", "none.tsv"],
            "none.tsv is not there: nothing is at",
        ),
        (["encode", "absent/model/dir", "x.txt"], "absent/model/dir is no model directory"),
        (
            ["evaluate", "absent/model/dir", "--data", "x"],
            "absent/model/dir is no model directory",
        ),
    ],
)
def test_mistakes_are_one_line_with_the_way_out(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_what_is_printed_is_utf_8_as_what_is_read_is(model: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "paraphrastic_hf.cli.main", "score", model, "-"],
        input="日本\tça va\n".encode(),
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode("utf-8").endswith("\t日本\tça va\n")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "is full (for OUT)"),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory"), "OUT is a file; name a folder"),
        (FileExistsError(errno.EEXIST, "File exists"), "OUT is a file; name a folder"),
        (PermissionError(errno.EACCES, "Permission denied"), "Permission denied"),
        (FileNotFoundError(errno.ENOENT, "No such folder", CACHE), "in the variable HF_HOME"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_the_system_refuses_names_the_output_and_the_way_out(
    error: OSError,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("paraphrastic_hf.cli.score.run", fail)
    output = tmp_path / "out"
    output.write_text("here", encoding="utf-8")
    assert main(["score", "english", "pairs.tsv", "--output", str(output)]) == 2
    assert message.replace("OUT", str(output)) in capsys.readouterr().err


def test_a_run_by_risk_says_what_its_candidates_cost() -> None:
    record = {"development": "expected_cost", "held_out": {"expected_cost": 21.19}}
    told = train_command._outcome(record, -21.19)
    assert told == ", expected cost 21.2 of held-out sentences (x 100)"


def test_a_likelihood_is_not_said_to_be_times_100() -> None:
    told = train_command._outcome({"development": "held_out"}, -3.5)
    assert "-3.50" in told
    assert "nats per token" in told
    assert "100" not in told
