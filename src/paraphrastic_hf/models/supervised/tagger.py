"""BiLSTM tagger over word vectors made from characters (thesis, 3.7.3; Ling et al., 2015).

    x_t = [g(word_t); 1 if word_t has a capital letter, else 0]
    l_t = tanh(W [forward LSTM at t; backward LSTM at t] + b)
    p(tag | word_t, sentence) = softmax(U l_t + c)

g is an encoder of this package: CHARAGRAM, charCNN or charLSTM.
"""

from __future__ import annotations

from typing import Any

from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.modeling_outputs import TokenClassifierOutput

from paraphrastic_hf.layers.elementwise import ACTIVATIONS, dropout
from paraphrastic_hf.layers.packing import padded_from_flat
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.layers.recurrent import PeepholeLSTM, run_directions
from paraphrastic_hf.models.base import NO_LABEL, check_choices
from paraphrastic_hf.models.supervised.words import WordsConfig, WordsModel, complete_batch


@strict
class TaggerConfig(WordsConfig):
    """Configuration of `TaggerModel`, with the settings of `WordsConfig`.

    `head_size` is the dimension of LSTM states and of l_t, 50 in the released code. The thesis has
    word vectors of 150 dimensions and character vectors of 50.

    Args:
        word_layer: Activation of a dense layer over the word vectors (the thesis's 2-layer
            CHARAGRAM). `none` for no dense layer.
    """

    model_type = "paraphrastic-tagger"

    word_layer: str = "none"

    def validate_word_layer(self) -> None:
        check_choices(self, word_layer=("none", *ACTIVATIONS))


class TaggerModel(WordsModel):
    """Word encoder, two peephole LSTMs over the sentence, a tanh layer and a softmax over tags.

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
    base_model_prefix = "tagger"  # not a module's name, which would confuse loading

    def __init__(self, config: TaggerConfig) -> None:
        super().__init__(config)
        width, size = config.vector_size, config.head_size
        self.dense = Dense(width, width) if config.word_layer != "none" else None
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
        """Return the logits of every tag for every word of a padded batch of sentences.

        Args:
            input_ids: (words, tokens), ids of the distinct words, padded.
            attention_mask: (words, tokens), 1 for a token. All ones if absent.
            word_index: (batch, seq), the row of each word in `input_ids`, negative for padding. If
                absent, `input_ids` are the words of one sentence.
            capitals: (words,), 1 for a word with a capital letter. All zeros if absent.
            labels: (batch, seq), gold tags, -100 to ignore.
            return_dict: Return a tuple if False.

        Returns:
            `logits`, (batch, seq, tags), zeros for padding. With labels also `loss`, the mean
            cross-entropy of the labeled words, in nats.
        """
        word_index, capitals = complete_batch(input_ids, word_index, capitals, labels)
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

    def compose(self, vectors: Tensor) -> Tensor:
        if self.dense is None:
            return vectors
        return ACTIVATIONS[self.config.word_layer](self.dense(vectors))
