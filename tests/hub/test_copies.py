import numpy as np
import pytest
from huggingface_hub import ModelCard

from paraphrastic_hf import SentenceEncoder
from paraphrastic_hf.cli.main import main
from paraphrastic_hf.encoders.storage.fingerprint import files_hash
from paraphrastic_hf.errors import PublishError
from paraphrastic_hf.hub.cards import ModelDetails
from paraphrastic_hf.hub.model_files import STALE
from paraphrastic_hf.hub.publish import publish
from tests.texts import SENTENCES


@pytest.mark.parametrize("name", ["model2vec", "onnx"])
def test_a_copy_has_its_tag_and_leaves_the_model_the_same(name, tmp_path):
    pytest.importorskip(name, reason=f"{name} is not installed")
    plain, out = tmp_path / "plain", tmp_path / "out"
    publish("model", "tiny", "me/tiny", dry_run=plain)
    options = ["--copies", name, "--dry-run", str(out)]
    assert main(["publish", "model", "tiny", "me/tiny", *options]) == 0
    new = {path.relative_to(out) for path in out.rglob("*")}
    new -= {path.relative_to(plain) for path in plain.rglob("*")}
    assert {path.parts[0] for path in new} == {name}
    assert f"{name}/*" in STALE
    assert set(ModelCard.load(out / "README.md").data.tags) >= {name}
    assert name not in ModelCard.load(plain / "README.md").data.tags
    assert files_hash(out) == files_hash(plain)
    np.testing.assert_array_equal(
        SentenceEncoder.from_pretrained(out).encode(SENTENCES),
        SentenceEncoder.from_pretrained("tiny").encode(SENTENCES),
    )


def test_a_model2vec_copy_loads_from_its_folder(tmp_path):
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed")
    copies = ModelDetails(copies=["model2vec"])
    publish("model", "tiny", "me/tiny", dry_run=tmp_path / "out", details=copies)
    stock = model2vec.StaticModel.from_pretrained(tmp_path / "out", subfolder="model2vec")
    expected = SentenceEncoder.from_pretrained("tiny").encode(SENTENCES)
    np.testing.assert_allclose(stock.encode(SENTENCES), expected, atol=1e-5)  # sums in float32


def test_an_unknown_copy_is_refused(tmp_path):
    with pytest.raises(PublishError):
        publish(
            *("model", "tiny", "me/tiny"),
            dry_run=tmp_path / "out",
            details=ModelDetails(copies=["model2vek"]),
        )
    assert not (tmp_path / "out").exists()
