"""`SentencePredictor`: predicts scores or labels with a supervised model and its tokenizer."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from paraphrastic_hf.encoders.batches import length_batches
from paraphrastic_hf.encoders.saved import SavedModel
from paraphrastic_hf.encoders.storage.directory import SUPERVISED
from paraphrastic_hf.encoders.vectors import checked_vectors
from paraphrastic_hf.models.base import evaluating
from paraphrastic_hf.models.supervised.base import SupervisedModel, TextsModel
from paraphrastic_hf.models.supervised.relatedness import RelatednessModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.ragged import Ragged

Shuffle = Callable[[np.ndarray, np.ndarray], None]


def text_inputs(
    sides: Sequence[Ragged],
    which: np.ndarray,
    max_length: int | None,
    device: torch.device,
    shuffle: Shuffle | None = None,
) -> dict[str, Tensor]:
    """Return the inputs of `TextsModel` for selected examples, (batch, seq) each.

    `sides` are the token ids of the texts, or of the first and the second texts of pairs. `which`
    are indices of examples. Texts longer than `max_length` tokens are cut. `shuffle` shuffles the
    padded ids of a side in place, given its mask.
    """
    names = ("input_ids", "attention_mask", "token_type_ids")[: 2 + (len(sides) > 1)]
    parts = []
    for number, side in enumerate(sides):
        ids, mask = side.padded(which, max_length)
        if shuffle is not None:
            shuffle(ids, mask)
        parts.append((ids, mask, np.full_like(ids, number)))
    joined = (np.concatenate(part, 1) for part in zip(*parts, strict=True))
    return {
        name: torch.from_numpy(part).to(device) for name, part in zip(names, joined, strict=False)
    }


def predict_logits(
    model: SupervisedModel,
    sides: Sequence[Ragged],
    *,
    batch_size: int = 256,
    max_length: int | None = None,
) -> np.ndarray:
    """Compute the logits of every example without dropout, (examples, outputs) float32.

    `sides` and `max_length` are passed to `text_inputs`.
    """
    lengths = np.sum([np.diff(side.offsets) for side in sides], 0)
    output = np.zeros((len(lengths), model.config.num_labels), np.float32)
    with evaluating(model), torch.inference_mode():
        for which in length_batches(lengths, batch_size):
            inputs = text_inputs(sides, which, max_length, model.device)
            output[which] = model(**inputs).logits.float().cpu().numpy()
    return output


class SentencePredictor(SavedModel):
    """A supervised model with its tokenizer: predicts scores of pairs, or labels of texts or pairs.

    Args:
        model: A `RelatednessModel`, which predicts scores, or a `ClassifierModel`, which predicts
            labels.
        tokenizer: The tokenizer that the model was trained with.

    Raises:
        ModelError: The sizes of model and tokenizer differ.

    Example:
        >>> predictor = SentencePredictor.from_pretrained("runs/sick")  # doctest: +SKIP
        >>> predictor.predict(["a cat sleeps"], ["a cat is sleeping"])  # doctest: +SKIP
        array([4.8], dtype=float32)
    """

    model: TextsModel
    tokenizer: TextTokenizer
    layout = SUPERVISED
    noun = "model of a task over texts"

    @property
    def takes_pairs(self) -> bool:
        """Whether an example is a pair of texts."""
        return self.model.takes_pairs

    def predict(
        self, first: Sequence[str], second: Sequence[str] | None = None
    ) -> np.ndarray | list[str]:
        """Predict the score or the label of every example.

        Args:
            first: The texts, or the first texts of pairs.
            second: The second texts of pairs. None for a model of single texts.

        Returns:
            Scores of a relatedness model on the scale of its training data (1 to 5 for SICK),
            (examples,) float32. For other models a list of labels.
        """
        logits = self.logits(first, second)
        if isinstance(self.model, RelatednessModel):
            return logits[:, 0]
        return [self.model.config.id2label[int(best)] for best in logits.argmax(1)]

    def probabilities(
        self, first: Sequence[str], second: Sequence[str] | None = None
    ) -> np.ndarray:
        """Compute the probability of every label, (examples, labels) float32.

        Labels are in the order of `config.id2label`.

        Args:
            first: The texts, or the first texts of pairs.
            second: The second texts of pairs.

        Raises:
            ValueError: The model predicts scores.
        """
        if isinstance(self.model, RelatednessModel):
            raise ValueError("A relatedness model predicts scores, not labels. Use `predict`")
        logits = torch.from_numpy(self.logits(first, second))
        return logits.softmax(1).numpy()

    def logits(self, first: Sequence[str], second: Sequence[str] | None = None) -> np.ndarray:
        """Compute the model's logits, (examples, outputs) float32.

        Args:
            first: The texts, or the first texts of pairs.
            second: The second texts of pairs.

        Raises:
            ValueError: `second` is missing or not needed, the lists differ in length, or an
                argument is a string.
        """
        if isinstance(first, str) or isinstance(second, str):
            raise ValueError("first and second must be lists of texts, got a string")
        if self.takes_pairs != (second is not None):
            wanted = "two lists of texts" if self.takes_pairs else "one list of texts"
            raise ValueError(f"This model takes {wanted}")
        if second is not None and len(first) != len(second):
            raise ValueError(
                f"first and second differ in length: {len(first):,} and {len(second):,}"
            )
        columns = [first] if second is None else [first, second]
        sides = [self.tokenizer.encode_batch(column) for column in columns]
        logits = predict_logits(self.model, sides, max_length=self.model.config.max_text_tokens)
        return checked_vectors(logits, len(logits), self._directory or type(self.model).__name__)
