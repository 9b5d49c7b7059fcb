"""BiLSTM tagger over word vectors made from characters (thesis, 3.7.3; Ling et al., 2015).

    x_t = [g(word_t); 1 if word_t has a capital letter, else 0]
    l_t = tanh(W [forward LSTM at t; backward LSTM at t] + b)
    p(tag | word_t, sentence) = softmax(U l_t + c)

g is an encoder of this package: CHARAGRAM, charCNN or charLSTM.
"""

from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.modeling_outputs import TokenClassifierOutput

from paraphrastic_hf.layers.elementwise import ACTIVATIONS, dropout
from paraphrastic_hf.layers.packing import padded_from_flat
from paraphrastic_hf.layers.product import Dense
from paraphrastic_hf.layers.recurrent import PeepholeLSTM, run_directions
from paraphrastic_hf.models.base import NO_LABEL, check_choices
from paraphrastic_hf.models.supervised.words import WordsConfig, WordsModel


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

    The loss is the mean cross-entropy of the labeled words, in nats.

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

    def outputs(
        self, vectors: Tensor, word_index: Tensor, labels: Tensor | None, phrases: Tensor | None
    ) -> TokenClassifierOutput:
        is_word = word_index >= 0
        rows = dropout(
            vectors.index_select(0, word_index[is_word]), self.config.head_dropout, self.training
        )
        states = run_directions(self.cells, rows, is_word.sum(1), "tanh", self.merge_layer)
        scores = self.classifier(states)  # (tokens, tags)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(scores, labels[is_word].long(), ignore_index=NO_LABEL)
        return TokenClassifierOutput(loss=loss, logits=padded_from_flat(scores, is_word))

    def compose(self, vectors: Tensor) -> Tensor:
        if self.dense is None:
            return vectors
        return ACTIVATIONS[self.config.word_layer](self.dense(vectors))
