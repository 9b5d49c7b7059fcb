"""Texts of every script for comparisons of the JavaScript package with Python."""

import random

WORDS = {
    "latin": "the cat sleeps Straße İstanbul ŒUVRE façade naïve ﬁrst Ĳssel Ǆ ſ ß ‘don’t’ “quoted”",
    "greek": "Σίσυφος ΟΔΥΣΣΕΎΣ η γάτα κοιμάται ΣΑΣ ς",
    "cyrillic": "кошка спит ЁЖИК Щука",
    "arabic": "القطة نائمة ﷺ ﻻ ٱلْكِتَابُ",
    "hebrew": "החתול ישן שָׁלוֹם",
    "indic": "बिल्ली सो रही है বিড়াল ঘুমায় பூனை தூங்குகிறது ఒక పిల్లి ക്ഷ",
    "thai": "แมวกำลังนอน กา ำ",
    "east": "猫が寝ている ｶﾞｷﾞ ゙か 고양이가 각 갂 ㈱ ㋿ 猫睡了 ㍿ ①②③ Ｆｕｌｌ",
    "signs": "½ ™ ℃ № … — ­soft­hyphen ☃ x² H₂O ￼ ﹏ ‼",
    "emoji": "😀 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 ❤️ 1️⃣ 🤷🏽‍♀️",
    "marks": "e\u0301 a\u0315\u0327 \u0301x q\u0323\u0307 \u1e9b\u0323 \u212b \u0344 \u0958",
}
CONTROLS = (
    "\x00\x01\t\n\x0b\r\x1f\x7f\x85\xa0\u200b\u200d\u2028\u2029\u2060\ufeff\u2581\ufffd\ufffe\u3000"
)
SURROGATES = "\ud800\udbff\udc00\udfff"
PLANES = [range(0x250), range(0x3400), range(0x10000), range(0x10000, 0x20000), range(0x110000)]


def texts(count, seed=0):
    """Return random texts: words of all scripts, characters of all planes, controls, emoji and lone
    surrogates. A few are empty or long.
    """
    choice = random.Random(seed)
    words = [word for line in WORDS.values() for word in line.split()]
    # two surrogates in order are one character in JavaScript, so they are one here
    made = (_text(choice, words).encode("utf-16", "surrogatepass") for _ in range(count))
    return [text.decode("utf-16", "surrogatepass") for text in made]


def _text(choice, words):
    kind = choice.random()
    if kind < 0.01:
        return choice.choice(["", " ", "\n", "\ud83d", "a" * 5000, "é" * 3000, "猫" * 2000])
    parts = [_part(choice, words) for _ in range(choice.randrange(1, 25))]
    return choice.choice([" ", " ", " ", ""]).join(parts)


def _part(choice, words):
    kind = choice.random()
    if kind < 0.6:
        word = choice.choice(words)
        return choice.choice([word, word, word.upper(), word.title(), word[::-1]])
    if kind < 0.7:
        return choice.choice(CONTROLS + SURROGATES)
    plane = choice.choice(PLANES)
    return "".join(chr(choice.choice(plane)) for _ in range(choice.randrange(1, 6)))
