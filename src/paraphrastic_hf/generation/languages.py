"""Source and target languages of multilingual tokenizers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paraphrastic_hf.errors import counted
from paraphrastic_hf.text.normalize import valid_unicode

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Languages:
    """Token ids that set the language pair of a translation."""

    before: tuple[int, ...] = ()  # prepended to every source: the mark of the target, `>>de<<`
    forced: int | None = None  # first id of every translation

    @classmethod
    def of(cls, tokenizer: Any, source: str | None, to: str | None) -> Languages:
        """Set the languages of a tokenizer, and return the token ids that the model needs."""
        has_codes = hasattr(tokenizer, "src_lang")  # NLLB, M2M100, mBART
        if source is not None:
            if not has_codes:
                raise ValueError(
                    "source (--from) has no effect, because this model takes no source language. "
                    "Leave it out"
                )
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
                f"This model translates into {', '.join(sorted(marks))}, not {to!r}"
                if marks
                else f"This model cannot be set to the language {to!r}. If it takes a prefix, as "
                "T5 does, use prefix (--prefix)"
            )
        return cls(before=(int(mark),))


def is_told(tokenizer: Any) -> bool:
    """Return whether a tokenizer has a setting or marks for the target language."""
    return hasattr(tokenizer, "src_lang") or any(map(_is_mark, tokenizer.get_vocab()))


def told_language(tokenizer: Any, to: str | None, written: str | None) -> str | None:
    """Return the language `to`, or None if the model was trained to write only that one."""
    if to is None or written is None or is_told(tokenizer):
        return to
    if to != written:
        raise ValueError(f"This model writes {written}, not {to!r}")
    return None


def source_ids(
    tokenizer: Any, lines: Sequence[str], languages: Languages, prefix: str, most: int | None
) -> list[list[int]]:
    """Return the input ids of each line, cut to `most`, or none for lines without known tokens."""
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
                "Truncated %s to the maximum length of %d tokens", counted(cut, "line"), most
            )
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    return [
        [*before, *ids] if line.strip() and not special.issuperset(ids) else []
        for line, ids in zip(lines, found, strict=True)
    ]


def _ids(tokenizer: Any, texts: list[str], limit: int | None) -> list[list[int]]:
    found = tokenizer(
        texts,
        truncation=limit is not None,
        max_length=limit,
        return_attention_mask=False,
        verbose=False,
    )
    return list(found["input_ids"])


def _code(tokenizer: Any, language: str) -> int:
    """Return the id of a language code. Its token is `de` or, for M2M100, `__de__`."""
    for spelled in (language, f"__{language}__"):
        found = tokenizer.convert_tokens_to_ids(spelled)
        if found is not None and found != tokenizer.unk_token_id:
            return int(found)
    raise ValueError(f"This model does not know the language {language!r}")


def _is_mark(token: str) -> bool:
    return token.startswith(">>") and token.endswith("<<") and len(token) > 4
