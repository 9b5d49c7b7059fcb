"""Penn Treebank word splitting: punctuation marks are separate words, contractions are two words.

Text that is already split stays unchanged. Hyphens within words are not split, and quotes and
brackets are kept as written.
"""

import re

# Patterns and replacements, applied in order.
RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"([‘’])", "'"),
        (r"([“”])", '"'),
        (r"\.\.+|…", lambda found: f" {found[0]} "),
        (r"([\"«»!?;@#$€£&()\[\]{}<>]|--+|[–—]|``|'')", r" \1 "),
        (r"([:,])(?!\d)", r" \1 "),
        (r"(?<!\d)([:,])", r" \1 "),
        (r"([^\s.])(\.)(?=\s*[\"')\]}]*\s*$)", r"\1 \2 "),  # only the last full stop
        (r"(?<=\w)'(?=\s|$)", " '"),  # plural genitive or end of a quotation
        (r"(?<!\S)'(?=\w)(?!(?:s|m|d|re|ve|ll|t|em|cause|til|\d)\b)", "' "),
        (r"(?i)(?<=\w)('s|'m|'d|'re|'ve|'ll|n't)(?!\w)", r" \1"),
        (r"(?i)\b(can)(not)\b", r"\1 \2"),
        (r"(?i)\b(gim|lem)(me)\b", r"\1 \2"),
        (r"(?i)\b(gon|wan)(na)\b", r"\1 \2"),
        (r"%", r" % "),
    )
]


def treebank_words(text: str) -> list[str]:
    """Split a sentence into words."""
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text.split()
