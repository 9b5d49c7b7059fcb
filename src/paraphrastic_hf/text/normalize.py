"""The one normalisation every tokenizer here applies before it splits text.

NFKC, optionally lower-casing, typographic quotes to ASCII ones, soft hyphens removed, and every run
of white space, control and format characters to a single space. It is built from `tokenizers`
components, so that the same rules, bit for bit, travel inside `tokenizer.json` to programs without
this package.
"""

from __future__ import annotations

import functools
import re

from tokenizers import Regex, normalizers

SPACE_MARK = "\u2581"  # what sentencepiece writes for a space
APART_PLANE = 0xF0000  # first private-use plane

_SURROGATE = re.compile("[\ud800-\udfff]")
_ASCII_CONTROL = dict.fromkeys((*range(0, 32), 127), " ")


@functools.cache
def build_normalizer(lowercase: bool) -> normalizers.Normalizer:
    """The normaliser as a `tokenizers` component, ready to be saved in `tokenizer.json`."""
    steps: list[normalizers.Normalizer] = [normalizers.Replace("\u00ad", ""), normalizers.NFKC()]
    if lowercase:
        steps += [normalizers.Lowercase(), normalizers.NFC()]  # lower-casing may bare a composition
    steps += [
        normalizers.Replace(Regex("[\u2018\u2019]"), "'"),
        normalizers.Replace(Regex("[\u201c\u201d]"), '"'),
        normalizers.Replace(Regex(rf"[\s\p{{Cc}}\p{{Cf}}{SPACE_MARK}\ufffd]+"), " "),
        normalizers.Strip(),
    ]
    return normalizers.Sequence(steps)


def valid_unicode(text: str) -> str:
    """`text` with lone surrogates, which no UTF-8 library accepts, as U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def normalize(text: str, lowercase: bool = True) -> str:
    """Normalise one text; idempotent.

    Example:
        >>> normalize("  The\\u00a0\\ufb01rst\\tLINE ")
        'the first line'
    """
    if text.isascii():  # the same result, ten times sooner
        text = " ".join(text.translate(_ASCII_CONTROL).split())
        return text.lower() if lowercase else text
    return build_normalizer(lowercase).normalize_str(valid_unicode(text))


def keep_apart(text: str) -> str:
    """Move a text to private-use characters, so that it shares no piece with any other language
    (but sentencepiece's bare space mark).

    The thesis (section 5.3.2) prefixes every token of the second language with a marker; marking
    every character has the same effect on sharing and needs no change in any tokenizer. Only the
    Basic Multilingual Plane moves (rarer characters stay); white space stays, so words remain
    words.

    Example:
        >>> keep_apart("a b") == chr(0xF0061) + " " + chr(0xF0062)
        True
    """
    return "".join(c if c.isspace() or ord(c) > 0xFFFF else chr(APART_PLANE + ord(c)) for c in text)
