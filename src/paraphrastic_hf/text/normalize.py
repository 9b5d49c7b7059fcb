"""Text normalization shared by all tokenizers.

It removes soft hyphens, applies NFKC and optional lower-casing, and makes curly quotes ASCII. Each
run of white space, control and format characters becomes one space. The rules are components of
`tokenizers`, so they are saved in `tokenizer.json`.
"""

import functools
import re

from tokenizers import Regex, normalizers

SPACE_MARK = "\u2581"  # what sentencepiece writes for a space
APART_PLANE = 0xF0000  # first private-use plane

_SURROGATE = re.compile("[\ud800-\udfff]")
_ASCII_CONTROL = dict.fromkeys((*range(0, 32), 127), " ")


@functools.cache
def build_normalizer(lowercase: bool) -> normalizers.Normalizer:
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
    """Normalize a text. Normalizing again changes nothing."""
    if text.isascii():  # same result, ten times faster
        text = " ".join(text.translate(_ASCII_CONTROL).split())
        return text.lower() if lowercase else text
    return build_normalizer(lowercase).normalize_str(valid_unicode(text))


def keep_apart(text: str) -> str:
    """Replace characters by private-use characters, to give a language a separate vocabulary.

    The thesis (section 5.3.2) marks every token of the second language instead. This method works
    with every tokenizer. White space and characters above U+FFFF, such as emoji, stay unchanged.
    """
    return "".join(c if c.isspace() or ord(c) > 0xFFFF else chr(APART_PLANE + ord(c)) for c in text)
