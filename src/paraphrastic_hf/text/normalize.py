"""The one normalization every tokenizer here applies before it splits text.

It applies NFKC, lower-cases if asked, turns typographic quotes into ASCII ones, removes soft
hyphens, and makes every run of white space, control and format characters a single space. It is
built from components of `tokenizers`, so that the same rules, bit for bit, are in `tokenizer.json`
for programs that do not have this package.
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
    """Build the normalizer as a component of `tokenizers`, which `tokenizer.json` can hold."""
    steps: list[normalizers.Normalizer] = [normalizers.Replace("\u00ad", ""), normalizers.NFKC()]
    if lowercase:
        steps += [normalizers.Lowercase(), normalizers.NFC()]  # lower case may need composing again
    steps += [
        normalizers.Replace(Regex("[\u2018\u2019]"), "'"),
        normalizers.Replace(Regex("[\u201c\u201d]"), '"'),
        normalizers.Replace(Regex(rf"[\s\p{{Cc}}\p{{Cf}}{SPACE_MARK}\ufffd]+"), " "),
        normalizers.Strip(),
    ]
    return normalizers.Sequence(steps)


def valid_unicode(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 library accepts, by U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def normalize(text: str, lowercase: bool = True) -> str:
    """Normalize a text; a normalized text does not change again.

    Example:
        >>> normalize("  The\\u00a0\\ufb01rst\\tLINE ")
        'the first line'
    """
    if text.isascii():  # the same result, ten times sooner
        text = " ".join(text.translate(_ASCII_CONTROL).split())
        return text.lower() if lowercase else text
    return build_normalizer(lowercase).normalize_str(valid_unicode(text))


def keep_apart(text: str) -> str:
    """Map the characters of a text to private-use ones; then it shares no piece with other texts.

    The thesis (section 5.3.2) puts a marker before every token of the second language. To change
    every character has the same effect on sharing, and needs no change in any tokenizer. Only
    characters of the Basic Multilingual Plane are mapped; rarer ones stay. White space stays too,
    so words remain words, and sentencepiece's bare space mark is the one piece still shared.

    Example:
        >>> keep_apart("a b") == chr(0xF0061) + " " + chr(0xF0062)
        True
    """
    return "".join(c if c.isspace() or ord(c) > 0xFFFF else chr(APART_PLANE + ord(c)) for c in text)
