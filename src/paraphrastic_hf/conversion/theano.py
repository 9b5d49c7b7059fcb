"""Convert the Theano releases.

A file holds unnamed arrays in the order of the layers, so their shapes determine the kind. Options
must state the pooling of a recurrent network, and whether two directions or encoders are added or
concatenated. Variants that this package does not implement are refused.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from paraphrastic_hf.conversion.kinds import (
    RELEASED_PARTS,
    Part,
    Piece,
    State,
    divide,
    expected,
    gran_state,
    lstm_state,
    prefixed,
)
from paraphrastic_hf.conversion.release import (
    NO_TOKEN,
    NORMALIZED,
    SPLIT,
    WORD_MARKS,
    Choices,
    Converted,
    filled,
)
from paraphrastic_hf.conversion.theano_file import TheanoFile
from paraphrastic_hf.conversion.vocabulary import (
    UNKNOWN,
    arrange,
    look_like_trigrams,
    make_tokenizer,
    read_features,
    read_word_rows,
)
from paraphrastic_hf.errors import DataError
from paraphrastic_hf.models.encoders.averaging import AveragingConfig
from paraphrastic_hf.models.encoders.charagram import CharagramConfig
from paraphrastic_hf.models.encoders.gated import GatedConfig
from paraphrastic_hf.models.encoders.mixed import MixedConfig, MixedModel
from paraphrastic_hf.models.encoders.projection import ProjectionConfig
from paraphrastic_hf.models.encoders.recurrent import RecurrentConfig
from paraphrastic_hf.models.families import families_by_type
from paraphrastic_hf.models.table import TableConfig
from paraphrastic_hf.text.mixed import MixedTokenizer

ACTIVATED: Mapping[str, str] = {"charagram": "tanh", "projection": "linear"}


def convert_theano(file: TheanoFile, place: str, choices: Choices) -> Converted:
    arrays = _without_initial_states(file.arrays, place)
    file = TheanoFile(arrays, file.vocabularies)
    kind = choices.kind or _find_kind(file, place)
    pieces = divide(arrays, kind)
    if pieces is None:
        raise DataError(
            f"{place} is not a release of --kind {kind}, which contains a table (tokens, dim) and "
            f"{expected(kind)}. The file contains\n  {file.described()}"
        )
    vocabularies = _vocabularies(file, pieces, place, choices)
    combine = choices.combine
    is_open = len(pieces) > 1 or kind in ("bilstm-avg", "bilstm-max")
    unread = {}
    if file.vocabularies:
        unread["vocabulary"] = "has its own vocabulary"
    if not is_open and kind != "bigran":
        unread["combine"] = f"is {kind}, which has nothing to combine"
    if not any(piece.part.encoder in ACTIVATED for piece in pieces):
        unread["activation"] = f"is {kind}, whose activation is fixed"
    choices.refuse(place, unread)
    if combine is None and is_open:
        what = "parts" if len(pieces) > 1 else "directions"
        raise DataError(
            f"{place} is {kind}. The file does not record whether its {what} are added or "
            "concatenated. Set --combine add or --combine concatenate (used in the released "
            "trigrams+words of 600 dimensions and bilstm-avg of 4,096)"
        )
    configs, states, tokenizers = [], [], []
    for piece, words in zip(pieces, vocabularies, strict=True):
        tokens, table = arrange(words, piece.table, place)
        config, state = _encoder(piece, len(table), choices)
        configs.append(config)
        states.append({"embedding.weight": table, **state})
        tokenizers.append(
            make_tokenizer(
                tokens,
                is_words=piece.part.tokens == "words",
                lowercase=not choices.cased,
                keep_unknown=UNKNOWN in words,
                spaced=choices.spaced,
            )
        )
    differences = tuple(dict.fromkeys(_differences([piece.part for piece in pieces], choices)))
    if len(pieces) == 1:
        model = families_by_type()[configs[0].model_type](configs[0])
        return Converted(filled(model, states[0]), tokenizers[0], kind, differences)
    mixed = MixedModel(MixedConfig.of(configs, str(combine)))
    state = {k: v for n, own in enumerate(states) for k, v in prefixed(f"parts.{n}.", own).items()}
    return Converted(filled(mixed, state), MixedTokenizer(tokenizers), kind, differences)


def _without_initial_states(arrays: list[np.ndarray], place: str) -> list[np.ndarray]:
    """Remove Lasagne's initial states, which are zero because they are never trained."""
    kept = []
    for number, array in enumerate(arrays):
        if number and array.ndim == 2 and len(array) == 1 and array.shape[1] > 1:
            if array.any():
                raise DataError(
                    f"{place} has a nonzero initial state, entry {number}. Cannot convert it"
                )
        else:
            kept.append(array)
    return kept


def _find_kind(file: TheanoFile, place: str) -> str:
    fitting = []
    for kind in RELEASED_PARTS:
        pieces = divide(file.arrays, kind)
        if pieces is not None and _fit_vocabularies(pieces, file.vocabularies):
            fitting.append(kind)
    if fitting == ["gran-3"]:
        raise DataError(
            f"The arrays in {place} fit GRAN-3 and GRAN-5. Only GRAN-3 can be converted. If the "
            "model is a GRAN-3, pass --kind gran-3"
        )
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise DataError(
            f"The arrays in {place} fit {' or '.join(fitting)}. Choose one with --kind. The file "
            f"contains\n  {file.described()}"
        )
    raise DataError(
        f"The arrays in {place} fit none of the kinds {', '.join(RELEASED_PARTS)}. The file "
        f"contains\n  {file.described()}\nPass --kind to see which arrays that kind requires"
    )


def _fit_vocabularies(pieces: list[Piece], vocabularies: list[dict[str, int]]) -> bool:
    if not vocabularies:
        return len(pieces) == 1 and pieces[0].part.tokens != "trigrams"
    if len(vocabularies) != (1 if len(pieces) == 1 else 2):
        return False
    own = [_own_vocabulary(piece.part, vocabularies) for piece in pieces]
    return all(
        len(words) == len(piece.table)
        and look_like_trigrams(words) == (piece.part.tokens == "trigrams")
        for words, piece in zip(own, pieces, strict=True)
    )


def _own_vocabulary(part: Part, vocabularies: list[dict[str, int]]) -> dict[str, int]:
    """Return the vocabulary of a part. In a mixture, the vocabulary of n-grams is first."""
    return vocabularies[-1 if part.tokens == "words" else 0]


def _vocabularies(
    file: TheanoFile, pieces: list[Piece], place: str, choices: Choices
) -> list[dict[str, int]]:
    if file.vocabularies:
        return [_own_vocabulary(piece.part, file.vocabularies) for piece in pieces]
    (piece, *others) = pieces
    if others or piece.part.tokens == "trigrams":
        raise DataError(
            f"{place} does not end with a vocabulary. Give the complete ParaNMT release"
        )
    if choices.vocabulary is None:
        wanted = "feature file" if piece.part.tokens == "ngrams" else "vectors file"
        raise DataError(
            f"{place} has no vocabulary. Give the {wanted} of the training as --tokenizer FILE"
        )
    if piece.part.tokens == "ngrams":
        return [read_features(choices.vocabulary, len(piece.table) - 1)]
    return [read_word_rows(choices.vocabulary)]


def _encoder(piece: Piece, rows: int, choices: Choices) -> tuple[TableConfig, State]:
    part, dim, arrays = piece.part, int(piece.table.shape[1]), piece.arrays
    sizes: dict[str, Any] = {"vocab_size": rows, "hidden_size": piece.size}
    if part.encoder == "average":
        return AveragingConfig(**sizes), {}
    if part.encoder == "charagram":
        # the release's second bias is a feature that is always 1
        bias = piece.table[-1] + arrays[0]
        return CharagramConfig(**sizes, presence=True, activation=choices.activation or "tanh"), {
            "bias": bias
        }
    if part.encoder == "projection":
        config = ProjectionConfig(
            **sizes, embedding_size=dim, activation=choices.activation or "linear"
        )
        return config, {"dense.0.weight": arrays[0].T, "dense.0.bias": arrays[1]}
    of_each = len(arrays) // part.directions
    directions = [arrays[k * of_each : (k + 1) * of_each] for k in range(part.directions)]
    combine = choices.combine or "add"
    if part.encoder == "gran":
        if part.directions == 2 and combine != "add":
            raise DataError(f"--kind bigran requires --combine add, got {combine}")
        states = [gran_state(own, part.detail) for own in directions]
        gated = GatedConfig(**sizes, variant=part.detail, bidirectional=part.directions == 2)
        return gated, _in_order(states)
    if part.directions == 2 and part.detail == "max" and combine == "add":
        raise DataError(
            "A bilstm-max trained with -axis 1 takes the maximum of both directions, which "
            "cannot be converted. If it was trained with -axis 2, use --combine concatenate"
        )
    output_gate, peepholes = piece.gates
    if part.directions == 2:
        sizes["hidden_size"] *= 2 if combine == "concatenate" else 1
    config = RecurrentConfig(
        **sizes,
        embedding_size=dim,
        output_gate=output_gate,
        peepholes=peepholes,
        bidirectional=part.directions == 2,
        merge=combine if part.directions == 2 else "add",
        pooling=part.detail,
    )
    states = [lstm_state(own, output_gate=output_gate, peepholes=peepholes) for own in directions]
    return config, _in_order(states)


def _in_order(states: list[State]) -> State:
    merged: State = {}
    for number, state in enumerate(states):
        merged.update(prefixed(f"cells.{number}.", state))
    return merged


def _differences(parts: list[Part], choices: Choices) -> Iterator[str]:
    yield NORMALIZED
    yield NO_TOKEN
    for part in parts:
        if part.tokens == "words":
            yield WORD_MARKS
            if not choices.spaced:
                yield SPLIT
        if part.tokens == "ngrams":
            yield "N-grams of characters replace those of bytes. Non-ASCII n-grams are left out."
        if part.encoder in ACTIVATED and choices.activation is None:
            yield (
                f"The file does not record the activation; {ACTIVATED[part.encoder]} is taken from "
                "the released demonstration (--activation)."
            )
        if part.encoder == "average":
            yield "The model averages. A ParaNMT release with max pooling has the same arrays."
        if part.encoder == "gran" and part.detail in (3, 4):
            yield "The last state is divided by the length as in the paper. Its direction is equal."
