"""Training speed of generative models, compared with a plain loop and with `Seq2SeqTrainer`.

It measures pairs and tokens per second of training the bilingual generative transformer, and the
loss after equal numbers of pairs.

* **bgt**: ours is `TrainingLoop` with `GenerativeObjective`, also in bfloat16. `plain` is the same
  model written like the equations: every decoder scores the whole vocabulary from [state; v] token
  by token, with dense Adam, torch's own products and dropout, and batches in random order padded to
  their longest sentence.
* **levers**: ours with one feature removed: candidates, the latent's product once per sentence,
  batches by length, one encoder layer instead of two, row-sparse tables, products by oneDNN.
* **marian**: `Seq2SeqTrainer` with a `MarianMTModel` of the same width, depth, heads, feed-forward
  size, vocabulary and tokens per step. Ours is then Eng. Trans., the same model without
  cross-attention.

All see the same pairs once, in float32 unless named bfloat16. Losses are nats per token of held-out
pairs over the whole vocabulary, in evaluation mode. For BGT it is the mean over its tasks.

Quick test: --pairs 200 --batch-tokens 512
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from common import training
from common.report import Table, options, save, settings
from common.timing import timed
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import MarianConfig, MarianMTModel

from paraphrastic_hf.generation.gauges import measure
from paraphrastic_hf.layers import product
from paraphrastic_hf.layers.embedding import rows_of
from paraphrastic_hf.models.generative.latent import LatentModel
from paraphrastic_hf.models.generative.latent_parts import Scorer
from paraphrastic_hf.training.data import batching
from paraphrastic_hf.training.generative.job import Generative

RECIPE = Path(__file__).parents[1] / "recipes" / "bilingual-generative-2020" / "small-bgt.yaml"
TRANSLATION = RECIPE.with_name("small-english-translation.yaml")
OURS, BFLOAT16 = ("ours", "ours, bfloat16"), ("--training.precision", "bf16")


class Setting(training.Setting):
    def __init__(self, recipe: Path, work: Path, args: argparse.Namespace, *more: str) -> None:
        options = ["--held_out", "500", "--epochs", "1", "--development", "none", *more]
        options += ["--batch_tokens", str(args.batch_tokens), "--accumulate", "1"]
        options += ["--hidden_size", "512", "--state_size", "256", "--feed_forward", "512"]
        options += ["--warmup_steps", str(training.WARM_UP), "--schedule", "inverse_root"]
        super().__init__(Generative, recipe, [*options, "--log_every", "1000"], work, args)
        self.kind.kept = self.kind.kept.select(self.chosen)

    def loss(self) -> float:
        """Return nats per token of held-out pairs."""
        length, kind = self.recipe.data.max_length, self.kind
        held_out = kind.held_out.select(np.arange(200)).grouped()
        return -measure(self.model, kind.corpus.sentences, held_out, length).likelihood


def run_plain(setting: Setting) -> float:
    """Return the seconds of the plain loop over the same pairs."""
    model, kind, recipe = setting.model, setting.kind, setting.recipe
    rate, warm_up = recipe.training.learning_rate, recipe.training.warmup_steps
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98))
    order = np.random.default_rng(1).permutation(len(kind.kept))
    model.train()
    started = time.perf_counter()
    batches = list(_random_batches(kind, order, recipe.training.batch_tokens))
    for step, batch in enumerate(batches):
        sides = []
        for side in range(2):
            ids, mask = kind.corpus.sentences.padded(batch[:, side], recipe.data.max_length)
            sides.append((torch.from_numpy(ids), torch.from_numpy(mask > 0)))
        weight = recipe.training.kl_weight * (step + 1) / len(batches)
        loss = _plain_loss(model, sides, weight, recipe.training.label_smoothing) / len(batch)
        for group in optimizer.param_groups:
            group["lr"] = rate * min((step + 1) / warm_up, (warm_up / (step + 1)) ** 0.5)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 25)
        optimizer.step()
    return time.perf_counter() - started


def _random_batches(kind: Any, order: np.ndarray, tokens: int) -> Iterator[np.ndarray]:
    """Yield batches of random pairs within the token budget, including padding."""
    batch: list[int] = []
    longest = np.zeros(2, np.int64)
    for pair in order:
        lengths = np.maximum(longest, kind.corpus.sentences.lengths(kind.kept.sides[pair]))
        if batch and (len(batch) + 1) * lengths.sum() > tokens:
            yield kind.kept.sides[batch]
            batch, lengths = [], kind.corpus.sentences.lengths(kind.kept.sides[pair])
        batch.append(int(pair))
        longest = lengths
    yield kind.kept.sides[batch]


def _plain_loss(
    model: LatentModel, sides: Sequence[tuple[Tensor, Tensor]], kl_weight: float, smoothing: float
) -> Tensor:
    """Return the loss as written in the thesis, a sum over the batch."""
    flat = [(ids[mask], mask.sum(1)) for ids, mask in sides]
    semantic = [model.posterior("semantic", *side) for side in flat]
    draws = [of.sample() for of in semantic]
    chosen = (torch.arange(len(sides[0][0])) % 2)[:, None].bool()
    shared = torch.where(chosen, draws[1], draws[0])
    total = kl_weight * sum(of.kl().sum() for of in semantic) / 2
    for number, language in enumerate(model.config.languages):
        ids, mask = sides[number]
        own = model.posterior(language, *flat[number])
        total = total + kl_weight * own.kl().sum()
        for task, latent, share in (
            (f"reconstruct_{language}", torch.cat([own.sample(), shared], 1), 0.0),
            (f"translate_{language}", draws[1 - number], smoothing),
        ):
            decoder = model.decoder_of(task)
            states = decoder(model.shifted(ids, task), latent)
            beside = latent[:, None].expand(-1, ids.shape[1], -1)
            logits = torch.cat([states, beside], -1)[mask] @ decoder.scorer.weight.weight.T
            total = total + F.cross_entropy(
                logits, ids[mask], reduction="sum", label_smoothing=share
            )
    return total


def run_marian(setting: Setting, folder: Path, batch_tokens: int) -> tuple[float, float]:
    """Return the seconds of `Seq2SeqTrainer` on the same English-French pairs, and nats per
    token."""
    config, kind = setting.model.config, setting.kind
    end = config.decoder_start_token_id
    torch.manual_seed(1)
    marian = MarianMTModel(
        MarianConfig(
            vocab_size=config.vocab_size,
            d_model=config.width,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_attention_heads=config.num_attention_heads,
            decoder_attention_heads=config.num_attention_heads,
            encoder_ffn_dim=config.intermediate_size,
            decoder_ffn_dim=config.intermediate_size,
            dropout=config.dropout,
            max_position_embeddings=128,
            pad_token_id=0,
            eos_token_id=end,
            decoder_start_token_id=end,
            forced_eos_token_id=end,
        )
    )
    texts, most = kind.corpus.sentences, setting.recipe.data.max_length

    def cut(sides: np.ndarray) -> list[tuple[list[int], list[int]]]:
        return [(texts[a][:most].tolist(), texts[b][:most].tolist()) for a, b in sides]

    given = setting.recipe.training
    trainer = training.stock_trainer(marian, cut(kind.kept.sides), given, batch_tokens, folder)
    seconds, _ = timed(trainer.train)
    marian.eval()
    nats = tokens = 0.0
    with torch.no_grad():
        for source, target in cut(kind.held_out.sides[:200]):
            labels = torch.tensor([target])
            loss = marian(torch.tensor([source]), labels=labels).loss
            nats, tokens = nats + float(loss) * len(target), tokens + len(target)
    return seconds, nats / tokens


def scores_by_token(
    self: Scorer, states: Tensor, latent: Tensor, sentence: Tensor, tokens: Tensor | None = None
) -> Tensor:
    """Compute `Scorer.forward` as written in the thesis: W [state; v] at every token."""
    rows = self.weight.weight if tokens is None else rows_of(self.weight, tokens)
    rows = rows[:, : self.dim + latent.shape[1]]  # without columns for padding of v
    return product.linear(torch.cat([states, latent[sentence]], 1), rows)


def one_batch(lengths: np.ndarray, **_: Any) -> list[np.ndarray]:
    """Put a whole step into one batch, padded to its longest sentence."""
    return [np.arange(len(lengths))]


def torch_products() -> AbstractContextManager[Any]:
    """Compute dense layers with torch's own products."""
    return patch.object(product, "ONEDNN", None)


# How each feature is removed: options, and a patch of our code.
LEVERS: dict[str, tuple[tuple[str, ...], Callable[[], AbstractContextManager[Any]]]] = {
    OURS[0]: ((), nullcontext),
    OURS[1]: (BFLOAT16, nullcontext),
    "ours, whole vocabulary": (("--candidates", "null"), nullcontext),
    "ours, latent's product by token": (
        (),
        lambda: patch.object(Scorer, "forward", scores_by_token),
    ),
    "ours, a step in one batch": (
        (),
        lambda: patch.object(batching, "batches_by_length", one_batch),
    ),
    "ours, two encoder layers": (("--encoder_layers", "2"), nullcontext),
    "ours, dense tables": ((), lambda: patch.object(LatentModel, "sparse_tables", lambda _: [])),
    "ours, products by torch": ((), torch_products),
}


def main() -> None:
    parser = options(__doc__, threads=2, parts=("bgt", "levers", "marian"), data=True)
    option = parser.add_argument
    option("--pairs", type=int, default=6000, help="pairs to train on once")
    option("--batch-tokens", type=int, default=4096, help="tokens per step, both sides")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    results = {"settings": settings(args, "torch", "transformers"), "runs": {}}

    def note(name: str, setting: Setting, seconds: float, loss: float, side: int | None) -> None:
        sides = setting.kind.kept.sides
        sides = sides if side is None else sides[:, side]
        results["runs"][name] = {
            "pairs/s": len(setting.kind.kept) / seconds,
            "tokens/s": int(setting.kind.corpus.sentences.lengths(sides).sum()) / seconds,
            "held-out nats a token": loss,
        }
        print(name, results["runs"][name], flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = folder / "work"
        for name, (more, without) in LEVERS.items():
            if "levers" in args.parts or ("bgt" in args.parts and name in OURS):
                with without():
                    setting = Setting(RECIPE, work, args, *more)
                    seconds = training.run_ours(setting, folder / name)
                note(name, setting, seconds, setting.loss(), None)
        if "bgt" in args.parts:
            setting = Setting(RECIPE, work, args)
            with torch_products():
                seconds = run_plain(setting)
            note("plain", setting, seconds, setting.loss(), None)
        if "marian" in args.parts:
            for name, more in zip(OURS, ((), BFLOAT16), strict=True):
                setting = Setting(TRANSLATION, work, args, *more)
                seconds = training.run_ours(setting, folder / f"translation {name}")
                note(f"{name}, Eng. Trans.", setting, seconds, setting.loss(), 1)
            setting = Setting(TRANSLATION, work, args)
            found = run_marian(setting, folder / "marian", args.batch_tokens)
            note("Seq2SeqTrainer, Marian", setting, *found, 1)
    save(args, results, Table("training", results["runs"], ",.4g"))


if __name__ == "__main__":
    main()
