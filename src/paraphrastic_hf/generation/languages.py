"""How a tokenizer of several languages is told which one a text is in, and which to write, and
whether a text is in the language that it is read in."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paraphrastic_hf.errors import counted
from paraphrastic_hf.text.language_id import clear_language, known_languages
from paraphrastic_hf.text.normalize import valid_unicode

logger = logging.getLogger(__name__)

SAMPLED = 200  # texts whose language is looked at


@dataclass(frozen=True)
class Languages:
    """What a translation between two languages begins with.

    Attributes:
        before: Ids before every source: the mark of the language to write, `>>de<<`, or nothing.
        forced: The id that every translation begins with, where the model wants one.
    """

    before: tuple[int, ...] = ()
    forced: int | None = None

    @classmethod
    def of(cls, tokenizer: Any, source: str | None, to: str | None) -> Languages:
        """Tell a tokenizer the two languages, and find what a model must be given of them.

        Args:
            tokenizer: As `AutoTokenizer` loads it.
            source: The language of the lines, or None where it has nothing to be told.
            to: The language to write, or None.

        Example:
            >>> Languages.of(None, None, None)
            Languages(before=(), forced=None)
        """
        has_codes = hasattr(tokenizer, "src_lang")  # NLLB, M2M100, mBART
        if source is not None:
            if not has_codes:
                raise ValueError("this model is told no source language: leave it out")
            _code(tokenizer, source)
            tokenizer.src_lang = source
        if to is None:
            return cls()
        if has_codes:
            tokenizer.tgt_lang = to
            return cls(forced=_code(tokenizer, to))
        mark = tokenizer.convert_tokens_to_ids(f">>{to}<<")
        if mark is None or mark == tokenizer.unk_token_id:
            marks = [name[2:-2] for name in tokenizer.get_vocab() if _is_mark(name)]
            raise ValueError(
                f"this model translates into {', '.join(sorted(marks))}, not {to!r}"
                if marks
                else f"this model writes one language, or is told by a prefix; leave out {to!r}"
            )
        return cls(before=(int(mark),))


def is_told(tokenizer: Any) -> bool:
    """Whether a tokenizer has to be told which language to write.

    Args:
        tokenizer: As `AutoTokenizer` loads it.
    """
    return hasattr(tokenizer, "src_lang") or any(map(_is_mark, tokenizer.get_vocab()))


def told_language(tokenizer: Any, to: str | None, written: str | None) -> str | None:
    """What a tokenizer is to be told of the language to write: nothing where the model writes that
    one alone.

    Args:
        tokenizer: As `AutoTokenizer` loads it.
        to: The language to write, or None.
        written: The language that the model was trained to write, if that is known.
    """
    if to is None or written is None or is_told(tokenizer):
        return to
    if to != written:
        raise ValueError(f"this model writes {written}, not {to!r}")
    return None


def warn_of_other_language(texts: Sequence[str], language: str) -> bool:
    """Warn where texts are clearly in another language than they are read in; if py3langid is
    installed.

    Args:
        texts: Any number of texts, of which the first 200 are looked at.

    Returns:
        Whether it warned.
    """
    if importlib.util.find_spec("py3langid") is None:
        return False
    found = clear_language(texts[:SAMPLED])
    if found in (None, language) or language not in known_languages():
        return False
    logger.warning(
        "the text looks like %s and is read as %s, so what is written from it may say something "
        "else: check the language, and which file is which",
        found,
        language,
    )
    return True


def source_ids(
    tokenizer: Any, lines: Sequence[str], languages: Languages, prefix: str, most: int | None
) -> list[list[int]]:
    """The ids that a model reads of each line; none of a line without any known token.

    Args:
        tokenizer: As `AutoTokenizer` loads it.
        most: Most ids of a line, which is cut there, with a warning; None for no end.
    """
    if not len(lines):
        return []
    before = languages.before
    texts = [valid_unicode(prefix + line) for line in lines]
    limit = None if most is None else most - len(before)
    found = _ids(tokenizer, texts, limit)
    if limit is not None:
        full = [text for text, ids in zip(texts, found, strict=True) if len(ids) == limit]
        cut = sum(len(ids) > limit for ids in _ids(tokenizer, full, None)) if full else 0
        if cut:
            logger.warning(
                "%s cut: of each its first %d tokens are read", counted(cut, "line"), most
            )
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    return [
        [*before, *ids] if line.strip() and not special.issuperset(ids) else []
        for line, ids in zip(lines, found, strict=True)
    ]


def _ids(tokenizer: Any, texts: list[str], limit: int | None) -> list[list[int]]:
    """The ids of texts, cut to so many."""
    found = tokenizer(
        texts,
        truncation=limit is not None,
        max_length=limit,
        return_attention_mask=False,
        verbose=False,
    )
    return list(found["input_ids"])


def _code(tokenizer: Any, language: str) -> int:
    """The id of a language's code, spelled as it is or, as M2M100 has it, `__de__`."""
    for spelled in (language, f"__{language}__"):
        found = tokenizer.convert_tokens_to_ids(spelled)
        if found is not None and found != tokenizer.unk_token_id:
            return int(found)
    raise ValueError(f"the tokenizer of this model has no language {language!r}")


def _is_mark(token: str) -> bool:
    return token.startswith(">>") and token.endswith("<<") and len(token) > 4
