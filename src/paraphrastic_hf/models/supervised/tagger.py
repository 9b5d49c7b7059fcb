"""A BiLSTM tagger over word vectors made from characters (thesis, 3.7.3; Ling et al., 2015).

    x_t = [g(word_t); 1 if word_t has a capital letter, else 0]
    l_t = tanh(W [forward LSTM at t; backward LSTM at t] + b)
    p(tag | word_t, sentence) = softmax(U l_t + c)

g is any encoder of this package: CHARAGRAM, charCNN or charLSTM. It reads each distinct word of a
batch once (`text/sentences.py`), and the sentences gather its vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.modeling_outputs import TokenClassifierOutput

from paraphrastic_hf.layers.elementwise import ACTIVATIONS, dropout
from paraphrastic_hf.layers.packing import padded_from_flat
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.layers.recurrent import PeepholeLSTM
from paraphrastic_hf.models.base import NO_LABEL
from paraphrastic_hf.models.encoders.recurrent import run_directions
from paraphrastic_hf.models.supervised.base import SupervisedConfig
from paraphrastic_hf.models.supervised.words import WordsModel, whole_batch


@strict
class TaggerConfig(SupervisedConfig):
    """Configuration of `TaggerModel`; the tags are `id2label`, as everywhere in transformers.

    Of the settings of `SupervisedConfig`, `encoder` is the word encoder's configuration, whose
    vectors have 150 numbers in the thesis, its characters' 50; `head_size` is the numbers in a
    state of each LSTM and in l, 50 in the released code; and `head_dropout` the probability that a
    number of a word's vector is zeroed in training.

    Args:
        capital_feature: Tell the LSTMs whether a word has a capital letter.
        word_layer: Activation of a dense layer over the word vectors, as wide as they are (the
            thesis's 2-layer CHARAGRAM); `none` for no layer.
        recurrent_std: Standard deviation of the LSTMs' initial weights; biases start at 0.
        max_words: A longer sentence is read in pieces of this number of words.
        max_word_tokens: A word is cut at this number of tokens.

    Raises:
        ValueError: No encoder, one of no family, another activation, or a size below 1.
    """

    model_type = "paraphrastic-tagger"

    capital_feature: bool = True
    word_layer: str = "none"
    recurrent_std: float | int = 0.1
    max_words: int = 512
    max_word_tokens: int = 100

    @classmethod
    def of(cls, encoder: dict[str, Any], tags: Sequence[str], **settings: Any) -> TaggerConfig:
        """The tagger with these tags over words encoded so."""
        numbers = {tag: number for number, tag in enumerate(tags)}
        return cls(encoder=encoder, id2label=dict(enumerate(tags)), label2id=numbers, **settings)

    def validate_sizes(self) -> None:
        """Refuse sizes and lengths below 1."""
        for name in ("head_size", "max_words", "max_word_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(
                    f"{name} of a tagger must be at least 1, got {getattr(self, name)}"
                )

    def validate_word_layer(self) -> None:
        """Refuse unknown names."""
        if self.word_layer not in ("none", *ACTIVATIONS):
            raise ValueError(
                f"word_layer must be none or one of {', '.join(ACTIVATIONS)}, got "
                f"{self.word_layer!r}"
            )


class TaggerModel(WordsModel):
    """A word encoder, two LSTMs over the sentence, a tanh layer and a softmax over tags.

    The LSTMs have peepholes, as the papers' do.

    Example:
        >>> from paraphrastic_hf.models.encoders.charagram import CharagramConfig
        >>> words = CharagramConfig(vocab_size=10, hidden_size=6, activation="relu")
        >>> model = TaggerModel(TaggerConfig.of(words.to_dict(), ["DT", "NN"]))
        >>> ids = torch.tensor([[2, 3, 4], [5, 6, 0]])  # the n-grams of two distinct words
        >>> sentence = torch.tensor([[0, 1, 1]])  # three words: the first, then the second twice
        >>> model(ids, (ids > 0).long(), word_index=sentence).logits.shape
        torch.Size([1, 3, 2])
    """

    config_class = TaggerConfig
    base_model_prefix = "tagger"  # of no module: loading must not take encoder.cells for cells

    def __init__(self, config: TaggerConfig) -> None:
        super().__init__(config)
        width, size = config.vector_size, config.head_size
        has_layer = config.word_layer != "none"
        self.dense = Dense(width, width) if has_layer else None
        self.cells = nn.ModuleList(
            PeepholeLSTM(width + config.capital_feature, size) for _ in range(2)
        )
        self.merge_layer = Dense(2 * size, size)
        self.classifier = Dense(size, config.num_labels)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        word_index: Tensor | None = None,
        capitals: Tensor | None = None,
        labels: Tensor | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> TokenClassifierOutput | tuple[Tensor, ...]:
        """Scores of every tag for every word of a padded batch of sentences.

        Args:
            input_ids: (words, tokens), ids of the distinct words, padded.
            attention_mask: (words, tokens), 1 for a token; all ones if absent.
            word_index: (batch, seq), which row of `input_ids` a word of a sentence is; negative
                where there is no word. If absent, the rows are one sentence.
            capitals: (words,), 1 for a word with a capital letter; none has one if absent.
            labels: (batch, seq), numbers of the right tags; -100 where there is none.
            return_dict: A tuple instead, if False.

        Returns:
            `logits`, (batch, seq, tags), zeros where there is no word; with labels also `loss`, the
            mean cross-entropy in nats over the words that have one.

        Raises:
            ValueError: Shapes that do not go together.
        """
        word_index, capitals = whole_batch(input_ids, word_index, capitals, labels)
        is_word = word_index >= 0
        vectors = self.word_vectors(input_ids, attention_mask, capitals)
        rows = dropout(
            vectors.index_select(0, word_index[is_word]), self.config.head_dropout, self.training
        )
        states = run_directions(self.cells, rows, is_word.sum(1), "tanh", self.merge_layer)
        scores = self.classifier(states)  # (tokens, tags)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(scores, labels[is_word].long(), ignore_index=NO_LABEL)
        output = TokenClassifierOutput(loss=loss, logits=padded_from_flat(scores, is_word))
        return self._to_tuple(output, return_dict)

    def word_vectors(
        self, input_ids: Tensor, attention_mask: Tensor | None, capitals: Tensor
    ) -> Tensor:
        """What the LSTMs read of each distinct word, (words, dim), as in the module docstring."""
        vectors = self.encoder(input_ids, attention_mask, pooled_only=True).sentence_embedding
        if self.dense is not None:
            vectors = ACTIVATIONS[self.config.word_layer](self.dense(vectors))
        if not self.config.capital_feature:
            return vectors
        return torch.cat([vectors, capitals[:, None].to(vectors)], 1)
