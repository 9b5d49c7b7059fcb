"""Sentences that may not be negatives."""

from itertools import combinations
from pathlib import Path

import pytest
from accelerate import Accelerator

from paraphrastic_hf.text.ragged import Ragged
from paraphrastic_hf.training.contrastive.objective import ContrastiveObjective
from paraphrastic_hf.training.data.corpus import build_corpus, exclusions
from paraphrastic_hf.training.data.sources import read_sources, sides_of
from paraphrastic_hf.training.data.tokenizers import train_tokenizers
from paraphrastic_hf.training.encoder.build import build_model
from paraphrastic_hf.training.kinds import load_contrastive

CAT, FELINE, CATS, DOG, HOUND = [2], [3], [4], [5], [6]
PAIRS = Ragged.from_lists([CAT, FELINE, CATS, FELINE, DOG, HOUND])


def barred(sentences: Ragged, lemmas: Ragged | None = None) -> dict[int, set[int]]:
    """Return the first ids of the barred sentences by the first id of each sentence."""
    group, never = exclusions(sentences, "partners_and_lemmas" if lemmas else "partners", lemmas)
    first = {int(group[row]): int(sentences[row][0]) for row in range(len(sentences))}
    return {name: {first[other] for other in never[place]} for place, name in first.items()}


@pytest.mark.parametrize(
    ("exclude", "expected"),
    [("duplicates", [0, 1, 2, 1, 4, 5]), ("clusters", [0, 0, 0, 0, 4, 4])],
)
def test_groups_by_hand(exclude, expected):
    group, never = exclusions(PAIRS, exclude)
    assert never is None
    assert [group.tolist().index(each) for each in group] == expected


def test_partners_of_a_partner_are_allowed():
    """`cat` and `cats` are both paired with `feline`, but not barred from each other."""
    assert barred(PAIRS) == {2: {3}, 4: {3}, 3: {2, 4}, 5: {6}, 6: {5}}
    group, never = exclusions(Ragged.from_lists([CAT, DOG, CAT, DOG]), "partners")
    assert [never[row].tolist() for row in group[:2]] == [[group[1]], [group[0]]]  # once


def test_the_lemma_of_a_partner_is_barred_if_it_is_in_the_corpus():
    """The lemma of `cats`, a partner of `feline`, is `cat`. The lemma of `hound` is unknown."""
    pairs = Ragged.from_lists([CATS, FELINE, CAT, DOG, DOG, HOUND])
    lemmas = Ragged.from_lists([CAT, FELINE, CAT, DOG, DOG, [9]])
    assert barred(pairs, lemmas) == {4: {3}, 3: {4, 2}, 2: {5}, 5: {2, 6}, 6: {5}}


# Groups of words that are all paired, and two pairs with a word outside the groups.
WORDS = "cats feline; big great large huge; dog hound; run sprint dash; old aged; new fresh"
MORE = ["cat kitty", "big vast"]
RECIPE = """
data: {{sources: [pairs.tsv]}}
tokenizer: {{kind: word, vocab_size: 100}}
model: {{hidden_size: 4, embedding_dropout: 0.0}}
training: {{batch_size: 4, mega_batch: 5, anneal_steps: 0, exclude: {exclude},
  negatives: rand}}
run: {{development: none}}
"""


@pytest.mark.parametrize("exclude", ["duplicates", "partners", "partners_and_lemmas"])
def test_training_respects_exclusions(exclude, tmp_path, monkeypatch):
    """Random negatives reach everything that is allowed."""
    monkeypatch.chdir(tmp_path)
    if exclude == "partners_and_lemmas":
        pytest.importorskip("simplemma", reason="pip install 'paraphrastic-hf[lemmas]'")
    pairs = {pair for line in WORDS.split(";") for pair in combinations(line.split(), 2)}
    pairs |= {tuple(line.split()) for line in MORE}
    text = "".join(f"{first}\t{second}\n" for first, second in sorted(pairs))
    Path("pairs.tsv").write_text(text, encoding="utf-8")
    Path("recipe.yaml").write_text(RECIPE.format(exclude=exclude), encoding="utf-8")
    recipe = load_contrastive("recipe.yaml")
    sources = read_sources(recipe, None)
    tokenizer = train_tokenizers(recipe.encoders, lambda: sides_of(sources), recipe.seed)
    corpus = build_corpus(sources, tokenizer, tmp_path / "corpus", exclude=exclude)
    model = build_model(recipe, tokenizer)
    task = ContrastiveObjective(recipe, corpus, model, Accelerator(cpu=True))
    word = [tokenizer.tokens()[corpus.sentences[row][0]] for row in range(2 * len(pairs))]
    given = set()
    for epoch in range(100):
        for batch in task.mega_batch(epoch, 0, epoch):
            assert batch.negatives is not None
            given |= {
                (word[anchor], word[negative])
                for anchor, negative in zip(batch.pairs.flat, batch.negatives.flat, strict=True)
            }
    partners = pairs | {(second, first) for first, second in pairs}
    assert bool(given & partners) == (exclude == "duplicates")
    assert (("feline", "cat") in given) == (exclude != "partners_and_lemmas")
