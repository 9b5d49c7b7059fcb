"""Text normalization shared by all tokenizers.

It applies NFKC, optional lower-casing and ASCII quotes, removes soft hyphens, and replaces runs of
white space, control and format characters by one space. Built from components of `tokenizers`,
exactly the same rules are part of `tokenizer.json`.
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
    """Build the normalizer as a component of `tokenizers`."""
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
    """Replace lone surrogates, which UTF-8 cannot encode, by U+FFFD."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def normalize(text: str, lowercase: bool = True) -> str:
    """Normalize a text. Normalizing again changes nothing.

    Example:
        >>> normalize("  The\\u00a0\\ufb01rst\\tLINE ")
        'the first line'
    """
    if text.isascii():  # same result, ten times faster
        text = " ".join(text.translate(_ASCII_CONTROL).split())
        return text.lower() if lowercase else text
    return build_normalizer(lowercase).normalize_str(valid_unicode(text))


def keep_apart(text: str) -> str:
    """Map characters to private-use ones, so that a text shares no tokens with unmapped texts.

    The thesis (section 5.3.2) marks every token of the second language. Mapping characters
    separates vocabularies equally well without changing any tokenizer. Characters beyond the Basic
    Multilingual Plane and white space stay, so the only shared piece is sentencepiece's bare space
    mark.

    Example:
        >>> keep_apart("a b") == chr(0xF0061) + " " + chr(0xF0062)
        True
    """
    return "".join(c if c.isspace() or ord(c) > 0xFFFF else chr(APART_PLANE + ord(c)) for c in text)
