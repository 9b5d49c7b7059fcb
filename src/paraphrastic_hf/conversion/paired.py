"""The PyTorch releases as models of this package: "simple and effective" (2019), SIM (2019) and the
at-scale one (2021).

A file is a dict: `state_dict`, `vocab` (`vocab_words` in SIM) from piece, word or n-gram to row, in
models with two tables `vocab_fr`, and `args`. The encoder is an average, or a bidirectional LSTM of
torch, its states concatenated and pooled.
"""

from __future__ import annotations

import zipfile
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from paraphrastic_hf.conversion.lasagne import State, prefixed, torch_lstm_state
from paraphrastic_hf.conversion.pieces import convert_pieces
from paraphrastic_hf.conversion.release import (
    NO_TOKEN,
    NORMALIZED,
    Choices,
    Converted,
    filled,
)
from paraphrastic_hf.conversion.theano_file import check_numbers, check_vocabulary
from paraphrastic_hf.conversion.vocabulary import UNKNOWN, arrange, make_tokenizer
from paraphrastic_hf.errors import DataError, counted, in_a_line
from paraphrastic_hf.models.encoders.averaging import AveragingConfig
from paraphrastic_hf.models.encoders.recurrent import RecurrentConfig
from paraphrastic_hf.models.families import families_by_type
from paraphrastic_hf.models.table import TableConfig
from paraphrastic_hf.text.contract import TextTokenizer

SIDES = {"first": "", "second": "_fr"}
LSTM_ARRAYS = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


@dataclass(frozen=True)
class Settings:
    """What `args` say that matters after training; defaults are SIM's, which has few."""

    pool: str = "mean"
    ngrams: int = 0
    zero_unk: int = 1
    lower_case: int = 1
    tokenize: int = 0
    sp_model: str | None = None

    @classmethod
    def of(cls, args: Any) -> Settings:
        given = vars(args) if isinstance(args, Namespace) else {}
        names = cls.__dataclass_fields__
        return cls(**{name: value for name, value in given.items() if name in names})


def read_torch(path: str | Path) -> Any:
    """Read what was given to `torch.save`, without running the code that it may name.

    Raises:
        DataError: The file is damaged, or names a class or function, as a whole module does.
    """
    try:
        if zipfile.is_zipfile(path):  # whose checksums torch does not compare
            with zipfile.ZipFile(path) as archive:
                if damaged := archive.testzip():
                    raise zipfile.BadZipFile(f"{damaged} is damaged")
        with torch.serialization.safe_globals([Namespace]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for damaged files
        reason = in_a_line(error.__context__ or error).partition(" Please")[0]
        raise DataError(
            f"cannot read {path}: {reason}; if you trust the file, load it with the program that "
            "wrote it and save its weights, vocab and args alone"
        ) from error


def convert_paired(checkpoint: Any, path: Path, choices: Choices) -> Converted:
    """A PyTorch release as a model of this package.

    Raises:
        DataError: It holds other things, a choice is missing, or the vocabulary's file is.
    """
    words_key = (
        "vocab_words" if isinstance(checkpoint, dict) and "vocab_words" in checkpoint else "vocab"
    )
    if not isinstance(checkpoint, dict) or not {"state_dict", words_key} <= checkpoint.keys():
        raise DataError(
            f"{path} is no released model: expected state_dict, vocab and args, and it holds\n"
            f"  {_described(checkpoint)}"
        )
    if choices.kind not in (None, "words", "trigrams"):
        raise DataError(
            f"{path} is a PyTorch release, which says itself what it is, up to --kind words or "
            f"trigrams; got {choices.kind}"
        )
    settings = Settings.of(checkpoint.get("args"))
    table, cells = _weights(checkpoint, path, choices)
    suffix = SIDES[choices.side or "first"]
    words = checkpoint.get(f"vocab{suffix}") if suffix else checkpoint[words_key]
    words = checkpoint[words_key] if words is None else words
    check_vocabulary(words, str(path))
    if max(words.values(), default=0) >= len(table):
        raise DataError(
            f"{path}: the vocabulary has rows up to {max(words.values()):,}, and the table "
            f"{len(table):,}"
        )
    lowercase = bool(settings.lower_case) and not choices.cased
    differences = [NORMALIZED, NO_TOKEN]
    if words_key == "vocab_words":  # its look-up takes row 0 for "not found"
        words = {token: row for token, row in words.items() if row}
        differences.append(
            "SIM detokenizes and then cuts by the Treebank rules first; plain text is cut as it is."
        )
    elif settings.tokenize:
        differences.append("The release cuts by Moses first: give text that is cut so.")
    tokenizer, table = _tokenizer(words, table, settings, path, choices, lowercase, differences)
    config, state = _encoder(cells, table, settings, path)
    model = families_by_type()[config.model_type](config)
    kind = choices.kind or ("trigrams" if settings.ngrams else "pieces")
    kind += "-blstm" if cells else ""
    return Converted(
        filled(model, {"embedding.weight": table, **state}), tokenizer, kind, tuple(differences)
    )


def _weights(
    checkpoint: Mapping[str, Any], path: Path, choices: Choices
) -> tuple[np.ndarray, State]:
    """The table and the LSTM's arrays, if there is one, of the side chosen."""
    stored = checkpoint["state_dict"]
    sides = {"": {}, "_fr": {}}  # type: dict[str, dict[str, torch.Tensor]]
    for name, tensor in stored.items() if isinstance(stored, dict) else ():
        module, _, rest = name.partition(".")
        if module.removesuffix("_fr") not in ("embedding", "lstm") or not isinstance(
            tensor, torch.Tensor
        ):
            raise DataError(
                f"{path} has weights {name!r}, of no released encoder; it holds\n"
                f"  {_described(checkpoint)}"
            )
        sides["_fr" if module.endswith("_fr") else ""][f"{module.removesuffix('_fr')}.{rest}"] = (
            tensor
        )
    if not sides["_fr"]:
        choices.refuse(str(path), {"side": "has one encoder and table for both languages"})
    if sides["_fr"] and choices.side is None:
        raise DataError(
            f"{path} has an encoder or a table for each of two languages: give --side first, or "
            "--side second"
        )
    chosen = {**sides[""], **sides[SIDES[choices.side or "first"]]}  # what is shared is the first's
    if "embedding.weight" not in chosen or len(chosen["embedding.weight"].shape) != 2:
        raise DataError(f"{path} has no table of vectors; it holds\n  {_described(checkpoint)}")
    arrays = {
        name: check_numbers(tensor.detach().float().numpy(), f"{path}: {name}")
        for name, tensor in chosen.items()
    }
    return arrays.pop("embedding.weight"), arrays


def _tokenizer(
    words: dict[str, int],
    table: np.ndarray,
    settings: Settings,
    path: Path,
    choices: Choices,
    lowercase: bool,
    differences: list[str],
) -> tuple[TextTokenizer, np.ndarray]:
    """The tokenizer and the table in the order of its ids."""
    keep_unknown = not settings.zero_unk and UNKNOWN in words
    if settings.ngrams or choices.kind in ("words", "trigrams"):
        tokens, table = arrange(words, table, str(path))
        made = make_tokenizer(
            tokens,
            is_words=choices.kind == "words",
            lowercase=lowercase,
            keep_unknown=keep_unknown,
            spaced=choices.spaced,
        )
        return made, table
    pieces = convert_pieces(
        _sentencepiece_file(settings, path, choices),
        words,
        table,
        lowercase=lowercase,
        keep_unknown=keep_unknown,
    )
    differences.append(
        "A word's bare space mark is left out with the unknown character after it; the release "
        "keeps the mark."
    )
    if pieces.missing:
        differences.append(
            f"No row for {counted(len(pieces.missing), 'piece')} ({_some(pieces.missing)}): the "
            "release "
            "leaves them out, here they are zeros, which shorten a mean and leave its direction; "
            "an LSTM reads them, so its vectors of such texts differ."
        )
    if pieces.unreached:
        differences.append(
            f"The release has {counted(len(pieces.unreached), 'row')} for runs of characters "
            "without a piece "
            f"({_some(pieces.unreached)}); here such characters count one by one, or not at all."
        )
    return pieces.tokenizer, pieces.table


def _sentencepiece_file(settings: Settings, path: Path, choices: Choices) -> Path:
    """The model given, or the one beside the file that `args` name."""
    if choices.vocabulary is not None:
        return Path(choices.vocabulary)
    named = Path(settings.sp_model).name if settings.sp_model else "its sentencepiece model"
    if settings.sp_model and (path.parent / named).is_file():
        return path.parent / named
    raise DataError(
        f"{path} needs {named}, which is not beside it: give it as --tokenizer FILE; or, for a "
        "model over words, --kind words"
    )


def _encoder(
    arrays: State, table: np.ndarray, settings: Settings, path: Path
) -> tuple[TableConfig, State]:
    """Configuration and weights, without the table."""
    if not arrays:
        if settings.pool != "mean":
            raise DataError(
                f"{path} takes the {settings.pool} of its vectors, and averaging models here the "
                "mean only"
            )
        return AveragingConfig(vocab_size=len(table), hidden_size=table.shape[1]), {}
    wanted = {f"lstm.{name}{end}" for name in LSTM_ARRAYS for end in ("", "_reverse")}
    if arrays.keys() != wanted:
        raise DataError(
            f"{path} has an LSTM that is not one bidirectional layer: {', '.join(sorted(arrays))}"
        )
    size = arrays["lstm.weight_hh_l0"].shape[1]
    config = RecurrentConfig(
        vocab_size=len(table),
        hidden_size=2 * size,
        embedding_size=table.shape[1],
        peepholes=False,
        bidirectional=True,
        merge="concatenate",
        pooling=settings.pool,
    )
    state: State = {}
    for number, end in enumerate(("", "_reverse")):
        weight_x, weight_h, *biases = (arrays[f"lstm.{name}{end}"] for name in LSTM_ARRAYS)
        own = torch_lstm_state(weight_x, weight_h, biases[0] + biases[1])
        state.update(prefixed(f"cells.{number}.", own))
    return config, state


def _some(tokens: list[str]) -> str:
    return ", ".join(map(repr, tokens[:3])) + (", ..." if len(tokens) > 3 else "")


def _described(value: Any) -> str:
    """What a file holds, a line each."""
    if not isinstance(value, dict):
        return f"a {type(value).__name__}"
    lines = []
    for key, item in value.items():
        if isinstance(item, torch.Tensor):
            lines.append(f"{key}: tensor {tuple(item.shape)}")
        elif key == "state_dict" and isinstance(item, dict):
            lines += [
                f"state_dict {name}: tensor {tuple(getattr(tensor, 'shape', '?'))}"
                for name, tensor in item.items()
            ]
        else:
            size = f" of {len(item):,}" if isinstance(item, dict | list) else ""
            lines.append(f"{key}: {type(item).__name__}{size}")
    return "\n  ".join(lines)
