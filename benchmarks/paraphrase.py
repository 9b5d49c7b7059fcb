"""Training and generation speed of SCPN, compared with a stock Bart that reads the parse as text.

Both learn from the same made pairs of `recipes/scpn-2018`, in one run. Training figures are target
tokens per second, forward and back, after three warm-up steps. Generation is a beam search with
three beams for 30 sentences by random weights. Twenty templates of one sentence are compared with
one template.

Quick test: --steps 2
"""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from common.report import Table, options, save, settings
from common.timing import timed

from paraphrastic_hf.generation.paraphrase import SyntacticParaphraser
from paraphrastic_hf.generation.writing import GenerationOptions
from paraphrastic_hf.models.seq2seq.stock import generation_settings
from paraphrastic_hf.text.load import load_tokenizer
from paraphrastic_hf.training.engine.run import train
from paraphrastic_hf.training.kinds import Context, load_recipe
from paraphrastic_hf.training.paraphrase.job import Paraphrasing, model_of_size

RECIPES = Path(__file__).parents[1] / "recipes" / "scpn-2018"
OPTIONS = ["--sources", f"[{RECIPES / 'pairs.tsv'}]", "--held_out", "30", "--development", "none"]
OPTIONS += ["--tokenizer.kind", "word"]
WARM = 3  # warm-up steps
NAMES = {"scpn": "small-scpn.yaml", "bart": "small-transformer.yaml"}
LINE = "the girl wrote a letter in the garden ."


def training(name: str, args: argparse.Namespace) -> dict[str, float]:
    """Return the target tokens per second, forward and back, and the number of parameters."""
    recipe = load_recipe(RECIPES / NAMES[name], OPTIONS)
    with tempfile.TemporaryDirectory() as folder:
        kind = Paraphrasing(recipe, Context())
        kind.prepare(Path(folder))
        kind.build(Path(folder))
        torch.manual_seed(1)
        model = larger(recipe, kind.tokenizer.special.end[0], args.vocab).train()
        objective = kind.objective(model, Accelerator(cpu=True))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        steps, position = [], 0
        for step in range(args.steps + WARM):
            (found,) = objective.batches(0, position, step)
            position = (position + found.size) % objective.examples(0)
            if position + found.size > objective.examples(0):
                position = 0
            start = time.perf_counter()
            optimizer.zero_grad()
            for batch in found.batches:
                objective.loss(model, batch, 0, step).total.backward()
            optimizer.step()
            took = time.perf_counter() - start
            own = [kind.corpus.sentences.lengths(batch.own)[:, 1].sum() for batch in found.batches]
            steps.append((int(sum(own)), took))
    tokens, spent = map(sum, zip(*steps[WARM:], strict=True))
    return {"tokens trained/s": tokens / spent, "parameters": model.num_parameters()}


def writing(name: str, args: argparse.Namespace) -> dict[str, float]:
    """Return the generated tokens per second, and the seconds for one template and for twenty."""
    recipe = load_recipe(RECIPES / NAMES[name], [*OPTIONS, "--steps", "1"])
    rows = [line.split("\t") for line in (RECIPES / "pairs.tsv").read_text("utf-8").splitlines()]
    parses = list(dict.fromkeys(row[3] for row in rows))[:20]
    how = GenerationOptions(beams=3, max_tokens=20)
    loose: dict[str, Any] = {"min_overlap": None, "min_similarity": None, "writing": how}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        train(recipe, out, progress=False)
        end = load_tokenizer(out).special.end[0]
        larger(recipe, end, args.vocab).save_pretrained(out)
        paraphraser = SyntacticParaphraser.from_pretrained(out)
        for each in (paraphraser.writer, paraphraser.writer.joined):
            if each is not None:  # random weights could end a sentence anywhere
                each.model.generation_config.min_new_tokens = how.max_tokens - 1

        def best_of_four(templates: list[str]) -> float:
            paraphrase = partial(paraphraser.paraphrase, [LINE], templates, **loose)
            return min(timed(paraphrase)[0] for _ in range(4))

        once, twenty = best_of_four(parses[:1]), best_of_four(parses)
        write = partial(paraphraser.writer.write, scores=False)
        took, found = timed(write, [LINE] * 30, [parses[:1]] * 30, how)
    return {
        "tokens written/s": sum(len(each[0][0].ids) for each in found) / took,
        "one template, s": once,
        "twenty templates, s": twenty,
    }


def larger(recipe: Any, end: int, vocab: int) -> Any:
    """Return a model with random weights and the output layer of a real vocabulary."""
    model_class, config = model_of_size(recipe, vocab, end)
    model = model_class(config)
    if hasattr(model, "stock"):
        model.generation_config = generation_settings(config)
    return model


def main() -> None:
    parser = options(__doc__, threads=1)
    parser.add_argument("--steps", type=int, default=20, help="training steps")
    parser.add_argument("--vocab", type=int, default=6000, help="entries of the vocabulary")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    found = {name: training(name, args) | writing(name, args) for name in NAMES}
    results = {"settings": settings(args, "torch", "transformers"), "measured": found}
    save(args, results, Table("model", found, ",.3g"))


if __name__ == "__main__":
    main()
