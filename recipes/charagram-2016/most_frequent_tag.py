r"""Baseline tagger: each word gets its most frequent tag in training.

    python recipes/charagram-2016/most_frequent_tag.py --data DATA \
        --tagger runs/tagging-charagram

Unknown words get NNP if capitalized, else NN. The splits are those of `tagging-charagram.yaml`.
`--tagger` also scores that model on the test split of UD English EWT.
"""

import argparse
from collections import Counter, defaultdict
from pathlib import Path

from paraphrastic_hf import Tagger
from paraphrastic_hf.corpora.readers.tagging import tagged_sentences
from paraphrastic_hf.evaluation.measures.tagging import TagCounts, count_right
from paraphrastic_hf.evaluation.suites.pairs import corpus_rows
from paraphrastic_hf.training.kinds import load_recipe
from paraphrastic_hf.training.supervised.recipe import SupervisedRecipe
from paraphrastic_hf.training.supervised.tagging import read_splits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tagger", type=Path, help="run of a tagger to score on EWT")
    arguments = parser.parse_args()
    recipe = load_recipe(Path(__file__).parent / "tagging-charagram.yaml")
    assert isinstance(recipe, SupervisedRecipe)
    splits = read_splits(recipe, arguments.data)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence in splits["train"]:
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            counts[word][tag] += 1
    best = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
    for name in ("validation", "test"):
        found = [
            [best.get(word, "NNP" if word[:1].isupper() else "NN") for word in sentence.words]
            for sentence in splits[name]
        ]
        show(f"most frequent tag, {name}", count_right(found, splits[name], best))
    if arguments.tagger is not None:
        rows = corpus_rows(arguments.data / "eval", "ewt")
        sentences = tagged_sentences(rows, "ewt", "penn_tags")
        found = Tagger.from_pretrained(arguments.tagger).tag([each.words for each in sentences])
        show(f"{arguments.tagger} on EWT", count_right(found, sentences, best))


def show(name: str, counts: TagCounts) -> None:
    print(
        f"{name}: {counts.accuracy:.2f} of {counts.words:,} words, "
        f"{counts.unknown_accuracy:.1f} of {counts.unknown_words:,} unknown"
    )


if __name__ == "__main__":
    main()
