import pytest

from tests.data_root import write_supervised
from tests.hub.families import Models


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    root = write_supervised(tmp_path_factory.mktemp("data"))
    return Models(tmp_path_factory.mktemp("models"), root)
