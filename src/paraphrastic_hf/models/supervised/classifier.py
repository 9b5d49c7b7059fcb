"""Classifier of a text or a pair of texts, for sentiment and entailment (thesis, 3.2.4).

    p = softmax(U sigmoid(W features + b) + c)

The static CNN of thesis 3.5.5 has `char_cnn` filters of width 1 and no sigmoid units.
"""

from huggingface_hub.dataclasses import strict
from torch import Tensor
from torch.nn import functional as F
from transformers.modeling_outputs import SequenceClassifierOutput

from paraphrastic_hf.models.supervised.base import Head, SupervisedConfig, TextsModel


@strict
class ClassifierConfig(SupervisedConfig):
    """Configuration of `ClassifierModel`, with the settings of `SupervisedConfig`.

    The classes are `id2label`, as in transformers.

    Args:
        pairs: Whether to classify pairs of texts. If False, classify single texts.
    """

    model_type = "paraphrastic-classifier"

    pairs: bool = False


class ClassifierModel(TextsModel):
    """Encoder with a softmax classifier of texts or pairs. Its loss is the cross-entropy in nats.

    Example:
        >>> import torch
        >>> from paraphrastic_hf.models.encoders.averaging import AveragingConfig
        >>> encoder = AveragingConfig(vocab_size=10, hidden_size=4)
        >>> model = ClassifierModel(ClassifierConfig(encoder=encoder.to_dict(), num_labels=2))
        >>> model(torch.tensor([[2, 3, 4]])).logits.shape
        torch.Size([1, 2])
    """

    config_class = ClassifierConfig

    def __init__(self, config: ClassifierConfig) -> None:
        super().__init__(config)
        size = config.vector_size * (2 if config.pairs else 1)
        self.head = Head(size, config.head_size, config.num_labels, config.head_dropout)
        self.post_init()

    @property
    def takes_pairs(self) -> bool:
        return bool(self.config.pairs)

    def outputs(self, logits: Tensor, labels: Tensor | None) -> SequenceClassifierOutput:
        loss = None if labels is None else F.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)
