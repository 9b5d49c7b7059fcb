from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.data_root import write_supervised
from tests.hub import matrix as hub_matrix
from tests.hub.matrix import ENCODERS, FAULTS, Models, hub_of
from tests.hub.server import Hub
from tests.trained import FAMILIES

# huggingface_hub uploads large files with a deprecated call of its HTTP library
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    root = write_supervised(tmp_path_factory.mktemp("data"))
    return Models(tmp_path_factory.mktemp("models"), root)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with hub_of(tmp_path_factory.mktemp("home")) as running:
        yield running


QUICK = ("word", "bgt", "tagging", "marian")


@pytest.fixture(
    params=[
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FAMILIES
    ]
)
def family(request: pytest.FixtureRequest, hub: Hub, models: Models) -> str:
    name = str(request.param)
    if f"models/me/{name}" not in hub.repositories:
        hub_matrix.push(models, name)
    return name


def test_a_family_saves_what_it_loads(family: str, models: Models, tmp_path: Path) -> None:
    hub_matrix.check_save(models, family, tmp_path)


def test_a_family_is_loaded_at_a_revision(
    family: str, hub: Hub, models: Models, tmp_path: Path
) -> None:
    hub_matrix.check_pull(hub, models, family, tmp_path)


def test_auto_classes_load_a_family_by_name(family: str, models: Models) -> None:
    hub_matrix.check_auto_model(models, family)
    if family in ENCODERS:
        hub_matrix.check_sentence_transformer(models, family)


@pytest.mark.slow
def test_a_card_is_valid_and_its_example_runs_as_printed(family: str, hub: Hub) -> None:
    hub_matrix.check_card(hub, family)
    hub_matrix.run_example(hub, family)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("family", ["word", "bgt", "gated_conv"], indirect=True)
def test_faults_are_survived_or_refused(
    fault: str, family: str, hub: Hub, models: Models, tmp_path: Path
) -> None:
    hub_matrix.check_fault(fault, hub, models, family, tmp_path)
