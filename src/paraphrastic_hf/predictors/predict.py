"""`SentencePredictor`: a supervised model's directory as one object that predicts scores or labels.

An example is one text, or a pair of texts. What training and prediction share, from token ids to
logits, is here too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from paraphrastic_hf.encoders.batches import length_batches
from paraphrastic_hf.encoders.saved import SavedModel
from paraphrastic_hf.encoders.storage.directory import SUPERVISED
from paraphrastic_hf.encoders.vectors import checked_vectors
from paraphrastic_hf.errors import counted
from paraphrastic_hf.models.evaluating import evaluating
from paraphrastic_hf.models.supervised.base import SupervisedModel
from paraphrastic_hf.models.supervised.relatedness import RelatednessModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.ragged import Ragged

Arrays = dict[str, np.ndarray]


def padded_sides(
    sides: Sequence[Ragged], which: np.ndarray, max_length: int | None
) -> list[Arrays]:
    """The named inputs of a supervised model for some examples, each side by itself.

    Args:
        sides: The token ids of the only text of every example, or of the first and of the second.
        which: The positions of the examples wanted, (batch,).
        max_length: How many tokens each text is cut at; None for no limit.

    Returns:
        For each side `input_ids` and `attention_mask`, (batch, seq); of pairs also
        `token_type_ids`, 0 in the first side and 1 in the second.
    """
    inputs = []
    for number, side in enumerate(sides):
        ids, mask = side.padded(which, max_length)
        types = {"token_type_ids": np.full_like(ids, number)} if len(sides) > 1 else {}
        inputs.append({"input_ids": ids, "attention_mask": mask, **types})
    return inputs


def joined(inputs: Sequence[Arrays], device: torch.device) -> dict[str, Tensor]:
    """The sides of `padded_sides` as one batch of tensors, one side after the other; the padding
    between them is masked."""
    names = inputs[0]
    return {
        name: torch.from_numpy(np.concatenate([side[name] for side in inputs], 1)).to(device)
        for name in names
    }


def predict_logits(
    model: SupervisedModel,
    sides: Sequence[Ragged],
    *,
    batch_size: int = 256,
    max_length: int | None = None,
) -> np.ndarray:
    """The `logits` of every example, (examples, outputs) float32, without dropout.

    Args:
        model: Any supervised model of texts. It is left in training or evaluation mode as it was.
        sides: The token ids of the only text of every example, or of the first and of the second.
        batch_size: The most examples in a batch, at least 1.
        max_length: How many tokens each text is cut at; None for no limit.

    Raises:
        ValueError: `batch_size` is below 1.
    """
    lengths = np.sum([np.diff(side.offsets) for side in sides], 0)
    output = np.zeros((len(lengths), model.config.num_labels), np.float32)
    with evaluating(model), torch.inference_mode():
        for which in length_batches(lengths, batch_size):
            inputs = joined(padded_sides(sides, which, max_length), model.device)
            output[which] = model(**inputs).logits.float().cpu().numpy()
    return output


class SentencePredictor(SavedModel):
    """A supervised model with its tokenizer: scores of pairs, or labels of texts or pairs.

    Args:
        model: A `RelatednessModel`, which gives scores, or a `ClassifierModel`, which gives labels.
        tokenizer: The tokenizer that the model was trained with.

    Raises:
        ModelError: The two do not fit each other.

    Example:
        >>> predictor = SentencePredictor.from_pretrained("runs/sick")  # doctest: +SKIP
        >>> predictor.predict(["a cat sleeps"], ["a cat is sleeping"])  # doctest: +SKIP
        array([4.8], dtype=float32)
    """

    model: SupervisedModel
    tokenizer: TextTokenizer
    layout = SUPERVISED
    noun = "model of a task over texts"

    @property
    def takes_pairs(self) -> bool:
        """Whether an example is a pair of texts."""
        return isinstance(self.model, RelatednessModel) or bool(self.model.config.pairs)

    def predict(
        self, first: Sequence[str], second: Sequence[str] | None = None
    ) -> np.ndarray | list[str]:
        """The score or the label of every example.

        Args:
            first: The texts, or the first texts of pairs.
            second: The second texts of pairs; None for a model of single texts.

        Returns:
            (examples,) float32 of a relatedness model, on the scale of its training data (SICK's
            is 1 to 5); else a list of labels.

        Raises:
            ValueError: There is one list of texts too many or too few, they differ in length, or
                one is a string.
        """
        logits = self.logits(first, second)
        if isinstance(self.model, RelatednessModel):
            return logits[:, 0]
        return [self.model.config.id2label[int(best)] for best in logits.argmax(1)]

    def probabilities(
        self, first: Sequence[str], second: Sequence[str] | None = None
    ) -> np.ndarray:
        """The probability of every label, (examples, labels) float32, in the order of
        `config.id2label`.

        Args:
            first: The texts, or the first texts of pairs.
            second: The second texts of pairs.

        Raises:
            ValueError: The model gives scores, it takes one list of texts and is given two or the
                reverse, or the two lists differ in length.
        """
        if isinstance(self.model, RelatednessModel):
            raise ValueError("a relatedness model gives scores, not labels: call predict")
        logits = torch.from_numpy(self.logits(first, second))
        return logits.softmax(1).numpy()

    def logits(self, first: Sequence[str], second: Sequence[str] | None = None) -> np.ndarray:
        """The model's `logits`, (examples, outputs) float32.

        Args:
            first: The texts, or the first texts of pairs.
            second: The second texts of pairs.

        Raises:
            ModelError: A number is NaN or infinite.
            ValueError: The model takes one list of texts and is given two or the reverse, or the
                two lists differ in length.
        """
        if isinstance(first, str) or isinstance(second, str):
            raise ValueError("give lists of texts, not a text: [text]")
        if self.takes_pairs != (second is not None):
            wanted = "two lists of texts" if self.takes_pairs else "one list of texts"
            raise ValueError(f"this model takes {wanted}")
        if second is not None and len(first) != len(second):
            raise ValueError(f"got {counted(len(first), 'first text')} and {len(second):,} second")
        columns = [first] if second is None else [first, second]
        sides = [self.tokenizer.encode_batch(column) for column in columns]
        logits = predict_logits(self.model, sides, max_length=self.model.config.max_text_tokens)
        return checked_vectors(logits, len(logits), self._directory or type(self.model).__name__)
