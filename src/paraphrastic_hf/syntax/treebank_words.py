"""Text to words as the Penn Treebank cuts it: punctuation apart, contractions in two.

Text that is cut already stays as it is. Hyphens within words are not cut, quotes stay as they are
written, and brackets are not escaped (`parse_tree.py` does that in trees).
"""

from __future__ import annotations

import re

# Pairs of what is found and what stands in its place, in order.
RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"([‘’])", "'"),
        (r"([“”])", '"'),
        (r"\.\.+|…", lambda found: f" {found[0]} "),
        (r"([\"«»!?;@#$€£&()\[\]{}<>]|--+|[–—]|``|'')", r" \1 "),
        (r"([:,])(?!\d)", r" \1 "),
        (r"(?<!\d)([:,])", r" \1 "),
        (r"([^\s.])(\.)(?=\s*[\"')\]}]*\s*$)", r"\1 \2 "),  # the last full stop alone
        (r"(?<=\w)'(?=\s|$)", " '"),  # the genitive of a plural, or the end of a quotation
        (r"(?<!\S)'(?=\w)(?!(?:s|m|d|re|ve|ll|t|em|cause|til|\d)\b)", "' "),
        (r"(?i)(?<=\w)('s|'m|'d|'re|'ve|'ll|n't)(?!\w)", r" \1"),
        (r"(?i)\b(can)(not)\b", r"\1 \2"),
        (r"(?i)\b(gim|lem)(me)\b", r"\1 \2"),
        (r"(?i)\b(gon|wan)(na)\b", r"\1 \2"),
        (r"%", r" % "),
    )
]


def treebank_words(text: str) -> list[str]:
    """Cut a sentence into words.

    Args:
        text: One sentence, with white space of any kind.

    Example:
        >>> treebank_words("I can't, said Mr. O'Neil (3.5 of 10).")
        ['I', 'ca', "n't", ',', 'said', 'Mr.', "O'Neil", '(', '3.5', 'of', '10', ')', '.']
    """
    for pattern, replacement in RULES:
        text = pattern.sub(replacement, text)
    return text.split()
