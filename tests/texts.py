"""Sentences, and characters that are hard for tokenizers."""

from hypothesis import strategies as st

SENTENCES = [
    "The ferry leaves the island at noon.",
    "At noon the boat departs from the island.",
    "My sister's kettle whistles when the water boils.",
    "Don't leave the lantern out in the rain!",
    "Rain fell on the tin roof all night long.",
    "All night, rain drummed on the metal roof.",
    "The baker sells warm bread before sunrise.",
    "Before sunrise one can buy warm bread from the baker.",
    "Who painted the gate green?",
    "Somebody has painted our gate green.",
    "Two goats climbed onto the old stone wall.",
    "On the old wall of stone stood two goats.",
    "The train to the coast was forty minutes late.",
    "Snow closed the mountain road until April.",
    "Until April the road over the mountain was shut by snow.",
    "She wrote the address on the back of her hand.",
    "He keeps bees behind the orchard, and sells the honey.",
    "The letter arrived three days after the funeral.",
    "If a < b and b < c then c > a.",
    "Der Zug fährt um acht Uhr über die Brücke.",
    "Die Katze schläft auf der warmen Mauer.",
    "Le boulanger ouvre sa boutique à l'aube, même en été.",
    "Où as-tu laissé les clefs de la cave ?",
    "¿Dónde está el puente más antiguo?",
    "El niño perdió su gorro en la nieve.",
    "İstanbul'da yağmur dün gece durdu.",
    "Кот спит на тёплой стене.",
    "Поезд опоздал на сорок минут.",
    "Η γάτα κοιμάται στον τοίχο.",
    "القطة نائمة فوق الجدار.",
    "बिल्ली दीवार पर सो रही है।",
    "猫在墙上睡觉。",
    "電車は四十分遅れました。",
    "Cafe\u0301 et the\u0301, s'il vous plai\u0302t 🐝",
]

SPECIALS = ["<pad>", "<unk>", "</s>", "<s>", "[CLS]", "a<pad>b"]
SPACES = [" ", "  ", "\t", "\r\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\x1c"]
CONTROLS = ["\0", "\x07", "\x7f", "\u200b", "\u200d", "\ufeff", "\u202e", "\u00ad"]
MARKS = ["\u2581", "\u2581the", "\ufffd", "\u0301", "e\u0301\u0327", "\u0930\u094d", "\u034f"]
COMPATIBLE = [
    *("\ufb01", "\ufb03", "\u2122", "\u00bd", "\uff21", "\u3392", "\uac00"),
    *("\u1112\u1161\u11ab", "\ufdfa"),
]
CASES = ["\u0130", "\u0131", "\u1e9e", "\u00df", "\u03a3", "\u01c5", "\U00010400"]
WIDE = ["猫", "\u4e2d\u6587", "🐝", "👩\u200d🔬", "🇹🇷", "\U000f0061", "\U0010ffff", "\ue000"]
QUOTES = ["\u2018", "\u2019", "\u201c", "\u201d", "'", "don't", "don\u2019t", "'s", "''tis"]
WORDS = sorted({word for sentence in SENTENCES for word in sentence.split()})
HOSTILE = [*SPECIALS, *SPACES, *CONTROLS, *MARKS, *COMPATIBLE, *CASES, *WIDE, *QUOTES]
BROKEN = ["\ud800", "a\udfffb", "\udc80\ud83d", "\ud83d\udc1d"]  # not encodable as UTF-8


def _text(piece):
    joined = st.lists(piece, max_size=12).map("".join)
    return st.one_of(joined, st.lists(piece, max_size=8).map(" ".join))


_PIECES = [
    st.sampled_from(WORDS),
    st.sampled_from(HOSTILE),
    st.characters(codec="utf-8"),
    st.characters(codec="ascii"),
]

valid_text = _text(st.one_of(_PIECES))
any_text = _text(st.one_of([*_PIECES, st.sampled_from(BROKEN)]))
ascii_text = _text(
    st.one_of(st.sampled_from(["The", "ferry", "<pad>", "don't"]), st.characters(codec="ascii"))
)
