"""Slow reference implementations in plain Python floats, as the papers define them."""

import math
from collections.abc import Sequence

Vector = Sequence[float]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def cosine(a, b):
    """Cosine, 0 with a zero vector."""
    scale = math.sqrt(dot(a, a) * dot(b, b))
    return dot(a, b) / scale if scale else 0.0


def margin_loss(first, second, negative_of_first, negative_of_second, margin, compare=cosine):
    """Thesis, 3.1.3, in both directions; 3.5.1 with `dot`."""
    total = 0.0
    for s, t, t_, s_ in zip(first, second, negative_of_first, negative_of_second, strict=True):
        total += max(0.0, margin - compare(s, t) + compare(s, t_))
        total += max(0.0, margin - compare(s, t) + compare(t, s_))
    return total / len(first)


def one_sided_margin_loss(first, second, negative_of_first, margin, compare=cosine):
    """Thesis, 4.4, 5.1.1 and 7.2.1: negatives of first sides only."""
    total = 0.0
    for s, t, t_ in zip(first, second, negative_of_first, strict=True):
        total += max(0.0, margin - compare(s, t) + compare(s, t_))
    return total / len(first)


def allowed_negatives(anchor, language, group, pool, never=()):
    """Sentences in the pool that share no group with `anchor`, its partner or `never`."""
    partner = anchor + 1 if anchor % 2 == 0 else anchor - 1
    found = []
    for other in range(len(group)):
        if pool == "opposite_side":
            in_pool = other % 2 != anchor % 2
        else:
            in_pool = language[other] == language[partner]
        if in_pool and group[other] not in (group[anchor], group[partner], *never):
            found.append(other)
    return found


def infonce(rows, language, group, kind, temperature, never=None):
    """InfoNCE over a pool of interleaved pairs, both directions, averaged over pairs."""
    total = 0.0
    for anchor in range(len(rows)):
        own = cosine(rows[anchor], rows[anchor ^ 1]) / temperature
        others = [
            cosine(rows[anchor], rows[other]) / temperature
            for other in allowed_negatives(
                anchor, language, group, kind, never[anchor] if never else ()
            )
        ]
        total += math.log(sum(math.exp(value - own) for value in [own, *others]))
    return total / (len(rows) // 2)


def hardest_negative(anchor, embeddings, language, group, pool, never=(), compare=cosine):
    """MAX: the first of the most similar allowed sentences, or -1."""
    best, best_cosine = -1, -math.inf
    for other in allowed_negatives(anchor, language, group, pool, never):
        similarity = compare(embeddings[anchor], embeddings[other])
        if similarity > best_cosine:
            best, best_cosine = other, similarity
    return best


def mean_of_rows(table, ids):
    """g(x) = 1/n sum_i W[x_i], or the zero vector without ids."""
    return [sum(table[i][d] for i in ids) / max(1, len(ids)) for d in range(len(table[0]))]


def ngrams(text, orders):
    """All substrings of n characters, in the order of n."""
    return [text[start : start + n] for n in orders for start in range(len(text) - n + 1)]


def times(matrix, x):
    """W x."""
    return [dot(row, x) for row in matrix]


def add(*vectors):
    return [sum(values) for values in zip(*vectors, strict=True)]


def multiply(a, b):
    return [x * y for x, y in zip(a, b, strict=True)]


def sigmoid(vector):
    return [1 / (1 + math.exp(-x)) for x in vector]


def tanh(vector):
    return [math.tanh(x) for x in vector]


def rnn(inputs, weight_x, weight_h, bias, activation):
    """h_t = f(W_x x_t + W_h h_{t-1} + b) (thesis, 3.1.2)."""
    apply = {"tanh": tanh, "relu": lambda v: [max(0.0, x) for x in v], "linear": list}[activation]
    hidden, states = [0.0] * len(bias), []
    for x in inputs:
        hidden = apply(add(times(weight_x, x), times(weight_h, hidden), bias))
        states.append(hidden)
    return states


def lstm(inputs, weight_x, weight_h, bias, peepholes=None):
    """The equations of thesis 3.1.2, with rows for gates i, f, c and optionally o."""
    size = len(weight_h[0])
    gates = [slice(k * size, (k + 1) * size) for k in range(len(bias) // size)]
    seen = peepholes or [[0.0] * size] * 3
    h, c, states = [0.0] * size, [0.0] * size, []
    for x in inputs:
        i, f, u, *o = (add(times(weight_x[g], x), times(weight_h[g], h), bias[g]) for g in gates)
        i = sigmoid(add(i, multiply(seen[0], c)))
        f = sigmoid(add(f, multiply(seen[1], c)))
        c = add(multiply(f, c), multiply(i, tanh(u)))
        h = tanh(c)
        if o:
            h = multiply(sigmoid(add(o[0], multiply(seen[2], c))), h)
        states.append(h)
    return states


def gran(inputs, hidden, weight_x, weight_h, weight_a, bias, variant):
    """a_t of GRAN to GRAN-5, or tanh without gates (0), from LSTM states (Wieting and Gimpel,
    2017, 3.1)."""
    size = len(inputs[0])
    a, states = [0.0] * size, []
    for x, h in zip(inputs, hidden, strict=True):
        before = times(weight_a, a) if variant == 4 else [0.0] * len(bias)
        sums = add(times(weight_x, x), times(weight_h, h), before, bias)
        gates = sigmoid(sums)
        first, second = gates[:size], gates[size:]
        if variant == 0:
            a = [math.tanh(value) for value in sums]
        elif variant == 1:
            a = multiply(x, first)
        elif variant == 2:
            a = multiply(h, first)
        elif variant == 5:
            a = add(multiply(x, first), multiply(h, second))
        else:
            a = add(multiply(x, first), multiply(a, second))
        states.append(a)
    return states


def pooled_filters(inputs, filters, bias, activation):
    """Largest f(w . window + b) of each filter over the windows of a text, padded with zeros."""
    apply = math.tanh if activation == "tanh" else lambda value: max(0.0, value)
    found = []
    for weights, b in zip(filters, bias, strict=True):
        width = len(weights)
        text = [*inputs, *[[0.0] * len(inputs[0])] * (width - len(inputs))]
        windows = [text[i : i + width] for i in range(len(text) - width + 1)]
        found.append(
            max(
                apply(b + sum(dot(w, x) for w, x in zip(weights, window, strict=True)))
                for window in windows
            )
        )
    return found


def sparse_target(score, lowest, highest):
    """Thesis, 3.2.4: p_i, i from `lowest` to `highest`."""
    floor = math.floor(score)
    values = {floor + 1: score - floor, floor: floor - score + 1}
    return [values.get(i, 0.0) for i in range(lowest, highest + 1)]


def softmax(values):
    highest = max(values)
    powers = [math.exp(value - highest) for value in values]
    return [power / sum(powers) for power in powers]


def relatedness_loss(logits, scores, lowest, highest):
    """Thesis, 3.2.4, equation 1: the mean KL(p || p_hat), and r . p_hat of each row."""
    total, means = 0.0, []
    for row, score in zip(logits, scores, strict=True):
        found, target = softmax(row), sparse_target(score, lowest, highest)
        total += sum(p * math.log(p / q) for p, q in zip(target, found, strict=True) if p > 0)
        means.append(dot(found, range(lowest, highest + 1)))
    return total / len(scores), means


def head_logits(features, hidden, hidden_bias, output, output_bias):
    """Thesis, 3.2.4: U sigmoid(W x + b) + c, or U x + c without W."""
    if hidden is not None:
        features = sigmoid(add(times(hidden, features), hidden_bias))
    return add(times(output, features), output_bias)


def window_similarity(first, second, reach, strict=False):
    """SIM by windows, or by strict windows, from the token vectors of two texts."""
    if not first or not second:
        return 0.0

    def windows(rows):
        around = [range(max(i - reach, 0), min(i + reach + 1, len(rows))) for i in range(len(rows))]
        return [add(*(rows[j] for j in each)) for each in around]

    def mean_best(own, other):
        best = []
        for i, a in enumerate(own):
            cosines = [cosine(a, b) for b in other]
            if strict:
                places = [
                    abs((i + 0.5) / len(own) - (j + 0.5) / len(other)) for j in range(len(other))
                ]
                cosines = [c - 0.2 * place for c, place in zip(cosines, places, strict=True)]
            best.append(max(cosines))
        if strict:
            return math.prod(max(each, 0.02) for each in best) ** (1 / len(best))
        return sum(best) / len(best)

    own, other = windows(first), windows(second)
    precision, recall = mean_best(own, other), mean_best(other, own)
    if precision <= 0 or recall <= 0:
        return 0.0
    return 2 * precision * recall / (precision + recall)
