import pytest

from paraphrastic_hf.cli.analyze import _by_name
from paraphrastic_hf.errors import DataError


def test_equal_last_parts_of_paths_are_told_apart_by_the_whole_paths():
    assert _by_name(["runs/a", "runs/b"]) == {"a": "runs/a", "b": "runs/b"}
    both = ["runs/a/best", "runs/b/best"]
    assert _by_name(both) == dict(zip(both, both, strict=True))
    with pytest.raises(DataError, match="runs/a/best"):
        _by_name([*both, "runs/a/best/"])
