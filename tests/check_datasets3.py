"""Check the loading scripts with `datasets` 3.x (`make test-datasets3`); needs no torch."""

import gzip
import tempfile
from pathlib import Path

import datasets

import paraphrastic_hf
from tests.evaluation.sts_files import write_sts

SCRIPTS = Path(__file__).parents[1] / "hub_cards" / "datasets" / "scripts"


def load(name, config, folder, **options):
    return datasets.load_dataset(
        str(SCRIPTS / f"{name}.py"),
        config,
        data_dir=str(folder),
        cache_dir=str(folder / "cache"),
        trust_remote_code=True,
        **options,
    )


def main():
    assert datasets.__version__.startswith("3."), datasets.__version__
    with tempfile.TemporaryDirectory() as temporary:
        folder = write_sts(Path(temporary))
        years = load("sts", "sts14", folder)["test"]
        assert len(years) == 6 * 12, years
        streamed = list(load("sts", "sts14", folder, split="test", streaming=True))
        assert streamed == list(years)
        package = paraphrastic_hf.load_dataset(
            "sts", "sts14", "test", data_dir=folder, cache_dir=str(folder / "own")
        )
        assert list(package) == list(years)
        assert set(load("hard_sts", "all", folder)["test"].column_names) >= {"swer", "percentile"}
        rows = b"a b c\tthe b c\t0.7\na\tb\t0.1\n"
        (folder / "paranmt").mkdir()
        (folder / "paranmt" / "para-nmt-50m.txt.gz").write_bytes(gzip.compress(rows))
        filtered = load("paranmt", "50m", folder, split="train", min_score=0.5)
        assert filtered[0] == {"sentence1": "a b c", "sentence2": "the b c", "score": 0.7}
        assert len(filtered) == 1
    print(f"loading scripts work with datasets {datasets.__version__}")


if __name__ == "__main__":
    main()
