"""What models of the words of sentences share (thesis, 3.7.3): an encoder reads each distinct word
of a batch once (`text/sentences.py`), and LSTMs read the sentences, which look its vectors up.

What is said of words, and of what lies between them, is the business of `tagger.py` and
`parser.py`.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from paraphrastic_hf.layers.recurrent import CELLS, initialize_cell
from paraphrastic_hf.models.supervised.base import SupervisedModel


class WordsModel(SupervisedModel):
    """Base of them; their LSTMs start from N(0, `config.recurrent_std` squared)."""

    auto_class: ClassVar[str] = "AutoModelForTokenClassification"

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, CELLS):
            initialize_cell(module, self.config.recurrent_std)
        else:
            super()._init_weights(module)


def whole_batch(
    input_ids: Tensor,
    word_index: Tensor | None,
    capitals: Tensor | None,
    labels: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """What a batch leaves out, put in, after a look at its shapes.

    Args:
        input_ids: (words, tokens), ids of the distinct words.
        word_index: (batch, seq), which of these a word of a sentence is; one sentence of them all
            if None.
        capitals: (words,), 1 for a word with a capital letter; none has one if None.
        labels: (batch, seq), if there are any.

    Returns:
        `word_index` and `capitals`.

    Raises:
        ValueError: Shapes that do not go together.
    """
    if word_index is None:
        word_index = torch.arange(len(input_ids), device=input_ids.device)[None]
    if capitals is None:
        capitals = torch.zeros_like(input_ids[:, 0])
    for name, tensor, wanted in (
        ("capitals", capitals, input_ids.shape[:1]),
        ("labels", labels, word_index.shape),
    ):
        if tensor is not None and tensor.shape != wanted:
            raise ValueError(f"{name} must be {tuple(wanted)}, got {tuple(tensor.shape)}")
    return word_index, capitals
