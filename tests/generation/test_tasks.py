import pytest

from paraphrastic_hf.generation.tasks import tasks_of
from paraphrastic_hf.models.generative.bgt import BGTConfig, BGTModel
from paraphrastic_hf.models.generative.mgt import MGTConfig, MGTModel


@pytest.mark.parametrize("reconstructs", [["en", "fr"], ["fr"], []])
def test_tasks_follow_from_the_configuration(reconstructs):
    sizes = {"vocab_size": 9, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8}
    bgt = BGTConfig(**sizes, reconstructs=reconstructs, has_language_variables=False)
    mgt = MGTConfig(
        **sizes,
        languages=["en", "fr", "de"],
        reconstructs=bool(reconstructs),
        has_language_variables=False,
    )
    assert tasks_of(bgt.to_dict()) == BGTModel(bgt).tasks()
    assert tasks_of(mgt.to_dict()) == MGTModel(mgt).tasks()
