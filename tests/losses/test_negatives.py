import pytest
import torch

from paraphrastic_hf.losses import negatives
from paraphrastic_hf.losses.negatives import STRATEGIES, select_negatives
from paraphrastic_hf.losses.pool import POOLS, Pool
from tests import oracles


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def random_pool(seed, pairs=30, dim=4, groups=40, languages=3):
    """Return sentences of several languages, with many equal groups."""
    generator = seeded(seed)
    return Pool(
        torch.randn(2 * pairs, dim, generator=generator),
        torch.randint(languages, (2 * pairs,), generator=generator),
        torch.randint(groups, (2 * pairs,), generator=generator),
    )


def one_language(embeddings, group=None):
    count = len(embeddings)
    return Pool(
        embeddings, torch.zeros(count, dtype=torch.long), torch.tensor(group or list(range(count)))
    )


def with_constraints(pool, seed, most=4):
    """Return the pool with up to `most` forbidden groups per sentence, and these as lists."""
    barred = torch.randint(-1, 40, (len(pool.group), most), generator=seeded(seed))
    constrained = Pool(pool.embeddings, pool.language, pool.group, barred)
    return constrained, [[group for group in row if group >= 0] for row in barred.tolist()]


def free_or_constrained(pool, is_constrained, seed):
    return with_constraints(pool, seed) if is_constrained else (pool, [[]] * len(pool.group))


def hardest(pool, kind, never, similarity="cosine"):
    """Return the slow loop's choices."""
    rows, language = pool.embeddings.double().tolist(), pool.language.tolist()
    compare = {"cosine": oracles.cosine, "dot": oracles.dot}[similarity]
    return [
        oracles.hardest_negative(i, rows, language, pool.group.tolist(), kind, own, compare)
        for i, own in enumerate(never)
    ]


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("is_constrained", [False, True])
def test_max_matches_the_slow_loop(is_constrained, kind, similarity):
    for seed in range(3):
        pool, never = free_or_constrained(random_pool(seed), is_constrained, seed)
        found = select_negatives(pool, "max", kind, seeded(0), similarity=similarity)
        assert found.tolist() == hardest(pool, kind, never, similarity)


@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("languages", [[0, 1], [0, 1, 2]], ids=["bitext", "two bitexts"])
@pytest.mark.parametrize("groups", [8, 100, 10**6])
@pytest.mark.parametrize("rows_at_a_time", [7, 2048])
def test_max_of_bitext_matches_the_slow_loop(kind, languages, groups, rows_at_a_time, monkeypatch):
    """Pairs in either order: language 0 with 1, or with 1 and 2."""
    monkeypatch.setattr(negatives, "ROWS_AT_A_TIME", rows_at_a_time)
    pool = random_pool(3, groups=groups)
    others = torch.tensor(languages[1:])[
        torch.randint(len(languages) - 1, (30,), generator=seeded(4))
    ]
    sides = torch.stack([torch.zeros(30, dtype=torch.long), others], 1)
    swapped = torch.rand(30, generator=seeded(5)) < 0.3
    language = torch.where(swapped[:, None], sides.flip(1), sides).reshape(-1)
    pool = Pool(pool.embeddings, language, pool.group)
    expected = hardest(pool, kind, [[]] * 60)
    assert select_negatives(pool, "max", kind, None).tolist() == expected


@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("groups", [3, 10, 1000])
@pytest.mark.parametrize("is_constrained", [False, True])
def test_forbidden_sentences_are_never_chosen(is_constrained, groups, strategy, kind):
    for seed in range(5):
        pool = random_pool(seed, pairs=12, groups=groups)
        pool, never = free_or_constrained(pool, is_constrained, seed)
        chosen = select_negatives(pool, strategy, kind, seeded(seed)).tolist()
        for i, choice in enumerate(chosen):
            of_others = pool.language.tolist(), pool.group.tolist()
            open_to_it = oracles.allowed_negatives(i, *of_others, kind, never[i])
            assert choice in open_to_it if open_to_it else choice == -1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_single_allowed_sentence_is_found(strategy):
    """Of 400 sentences 399 are one group. Only number 123 is another."""
    group = [0] * 400
    group[123] = 1
    pool = one_language(torch.randn(400, 3, generator=seeded(0)), group)
    chosen = select_negatives(pool, strategy, "partner_language", seeded(0)).tolist()
    # The pair 122 and 123 has both groups, so nothing is left for these two.
    assert [i for i, choice in enumerate(chosen) if choice == -1] == [122, 123]
    assert set(chosen) == {-1, 123}


def test_ties_go_to_the_lowest_index():
    pool = one_language(torch.ones(10, 4))
    assert select_negatives(pool, "max", "partner_language", seeded(0)).tolist() == [2, 2] + [0] * 8


@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_choice_does_not_depend_on_the_other_anchors(strategy, kind):
    pool = random_pool(8)
    every = select_negatives(pool, strategy, kind, seeded(3))
    rows = torch.tensor([41, 3, 3, 58, 0])
    some = select_negatives(pool, strategy, kind, seeded(3), rows=rows)
    assert some.tolist() == every[rows].tolist()


def test_rand_is_uniform_over_allowed_sentences():
    """2,000 draws from 10 sentences: 200 each, within 5 standard deviations of 13.4."""
    pool = one_language(torch.randn(12, 3, generator=seeded(0)))
    first = torch.zeros(1, dtype=torch.long)
    generator = seeded(0)
    draws = [
        int(select_negatives(pool, "rand", "partner_language", generator, rows=first))
        for _ in range(2000)
    ]
    counts = [draws.count(i) for i in range(12)]
    assert counts[:2] == [0, 0]
    assert all(abs(count - 200) < 5 * 13.4 for count in counts[2:])


def test_mix_uses_max_for_half_of_the_anchors():
    """A random choice rarely equals the MAX one: 1,000 of 2,000, within 5 x 22.4."""
    pool = one_language(torch.randn(2000, 8, generator=seeded(0)))
    hardest = select_negatives(pool, "max", "partner_language", seeded(0))
    mixed = select_negatives(pool, "mix", "partner_language", seeded(1))
    assert abs(int((hardest == mixed).sum()) - 1000) < 5 * 22.4


@pytest.mark.parametrize(
    ("strategy", "kind", "named"),
    [("best", "opposite_side", "'best'"), ("max", "everything", "'everything'")],
)
def test_an_unknown_name_is_refused(strategy, kind, named):
    with pytest.raises(ValueError, match=named):
        select_negatives(random_pool(0), strategy, kind, seeded(0))
