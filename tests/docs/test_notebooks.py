import pytest

from tests.docs.notebooks import NOTEBOOKS, code_cells, printed, read, run


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_reproduces_its_outputs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = read(path)
    outputs = run(notebook, path.name)
    assert outputs == [printed(cell) for cell in code_cells(notebook)], (
        "python -m tests.docs.notebooks writes what the cells print now"
    )
