"""`Tagger`: a tagging model with its tokenizer."""

from collections.abc import Sequence

import numpy as np
import torch

from paraphrastic_hf.encoders.batches import length_batches
from paraphrastic_hf.encoders.saved import SavedModel
from paraphrastic_hf.encoders.storage.directory import TAGGER
from paraphrastic_hf.models.base import evaluating
from paraphrastic_hf.models.supervised.tagger import TaggerModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.sentences import Sentences


class Tagger(SavedModel):
    """A tagging model with its tokenizer.

    Args:
        model: Tagging model.
        tokenizer: Tokenizer of the model's word encoder.

    Raises:
        ModelError: The sizes of model and tokenizer differ.

    Example:
        >>> tagger = Tagger.from_pretrained("runs/tagging-charagram")  # doctest: +SKIP
        >>> tagger.tag([["The", "cat", "sleeps", "."]])  # doctest: +SKIP
        [['DT', 'NN', 'VBZ', '.']]
    """

    model: TaggerModel
    tokenizer: TextTokenizer
    layout = TAGGER
    noun = "tagger"

    def tag(self, sentences: Sequence[Sequence[str]], *, batch_size: int = 100) -> list[list[str]]:
        """Predict the tag of every word.

        A word without known tokens is tagged by its context. Sentences longer than
        `model.config.max_words` are tagged in pieces.

        Args:
            sentences: Lists of words, tokenized as in the training corpus.
            batch_size: Maximum number of sentences per batch, at least 1.

        Returns:
            A list of tags for each sentence, one per word.

        Raises:
            DataError: A sentence is a string, or a word is not a string.
        """
        sentences, size = list(sentences), self.model.config.max_words
        owner, pieces = [], []
        for number, sentence in enumerate(sentences):
            for start in range(0, len(sentence), size):
                owner.append(number)
                pieces.append(sentence[start : start + size])
        corpus = Sentences.of(pieces, self.tokenizer)
        tags: list[list[str]] = [[] for _ in sentences]
        found = predict_tags(self.model, corpus, batch_size=batch_size)
        for number, piece in zip(owner, found, strict=True):
            tags[number] += piece
        return tags


def predict_tags(
    model: TaggerModel, corpus: Sentences, *, batch_size: int = 100
) -> list[list[str]]:
    """Predict the tag of every word of each sentence, without dropout.

    Sentences have at most `config.max_words` words.
    """
    names = model.config.id2label
    found: list[list[str]] = [[] for _ in range(len(corpus))]
    lengths = corpus.numbers.lengths(np.arange(len(corpus)))
    with evaluating(model), torch.inference_mode():
        for chosen in length_batches(lengths, batch_size):
            arrays = corpus.batch(chosen, model.config.max_word_tokens)
            best = model(**tensors(arrays, model.device)).logits.argmax(-1).tolist()
            for number, tags in zip(chosen, best, strict=True):
                found[number] = [names[tag] for tag in tags[: lengths[number]]]
    return found


def tensors(arrays: dict[str, np.ndarray], device: torch.device) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}
