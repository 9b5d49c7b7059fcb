"""Log-likelihood and perplexity of sentences under a language model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F
from tqdm.auto import tqdm

from paraphrastic_hf.encoders.batches import length_batches
from paraphrastic_hf.encoders.saved import SavedModel
from paraphrastic_hf.encoders.storage.directory import LANGUAGE_MODEL
from paraphrastic_hf.encoders.vectors import checked_vectors
from paraphrastic_hf.generation.writing import listed
from paraphrastic_hf.models.base import evaluating
from paraphrastic_hf.models.seq2seq.language_model import LanguageModel
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.ragged import Ragged

TOKENS_AT_A_TIME = 8192


@dataclass(frozen=True)
class Likelihood:
    """Likelihood of sentences under a language model."""

    nats: np.ndarray  # log-probability, NaN without known tokens, (sentences,) float64
    tokens: np.ndarray  # predicted tokens, with the end mark unless cut, (sentences,) int64

    @property
    def perplexity(self) -> np.ndarray:
        """Perplexity of each sentence, exp(-nats / tokens), at least 1, (sentences,)."""
        return np.asarray(perplexity_of(-self.nats / np.maximum(self.tokens, 1)))


def perplexity_of(nats_per_token: Any) -> Any:
    """Convert cross-entropies to perplexities, infinite if a float cannot hold them."""
    with np.errstate(over="ignore"):
        return np.exp(nats_per_token)


class LanguageScorer(SavedModel):
    """A language model with its tokenizer, to compute likelihoods of text.

    Args:
        model: The model, in evaluation mode.
        tokenizer: Tokenizer of the model.
        max_length: Maximum number of tokens per sentence, including start and end marks. Longer
            sentences are cut.

    Raises:
        ModelError: The sizes of model and tokenizer differ.

    Example:
        >>> scorer = LanguageScorer.from_pretrained("runs/language-model")  # doctest: +SKIP
        >>> scorer.score(["the cat sat", "cat the sat"]).perplexity  # doctest: +SKIP
    """

    model: LanguageModel
    layout = LANGUAGE_MODEL
    noun = "language model"

    def __init__(
        self, model: LanguageModel, tokenizer: TextTokenizer, max_length: int = 1000
    ) -> None:
        super().__init__(model, tokenizer)
        self.max_length = max_length

    def score(self, texts: Sequence[str], *, progress: bool = False) -> Likelihood:
        """Compute the likelihood of each text.

        Args:
            texts: Texts to score. An empty text gives NaN.
            progress: Show a progress bar.
        """
        ids = self.tokenizer.encode_batch(listed(texts))
        found = sentence_likelihoods(self.model, ids, self.max_length, progress=progress)
        known = found.nats[found.tokens > 0, None]
        checked_vectors(known, len(known), self._directory or type(self.model).__name__)
        return found


@torch.no_grad()
def sentence_likelihoods(
    model: LanguageModel, sentences: Ragged, max_length: int, *, progress: bool = False
) -> Likelihood:
    """Compute the likelihood of tokenized sentences, in batches of similar length."""
    lengths = np.minimum(np.diff(sentences.offsets), max_length)
    nats, tokens = np.full(len(lengths), np.nan), np.maximum(lengths - 1, 0)
    known = np.flatnonzero(lengths > 1)
    with (
        evaluating(model),
        tqdm(total=len(known), unit=" sentences", unit_scale=True, disable=not progress) as bar,
    ):
        for batch in length_batches(lengths[known], TOKENS_AT_A_TIME, TOKENS_AT_A_TIME):
            chosen = known[batch]
            padded, mask = sentences.padded(chosen, max_length)
            ids = torch.from_numpy(padded).to(model.device)
            is_predicted = torch.from_numpy(mask[:, 1:] > 0).to(model.device)
            output = model(input_ids=ids[:, :-1], logits_at=is_predicted, use_cache=False)
            targets = ids[:, 1:][is_predicted]
            losses = F.cross_entropy(output.logits.float(), targets, reduction="none")
            of_tokens = torch.zeros_like(ids[:, 1:], dtype=torch.double)
            of_tokens[is_predicted] = losses.double()
            nats[chosen] = -of_tokens.sum(1).cpu().numpy()
            bar.update(len(chosen))
    return Likelihood(nats, tokens.astype(np.int64))
