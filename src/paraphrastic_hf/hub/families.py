"""What a card says of each family of models: how it composes, and what follows from that.

Only what holds by construction stands here, nothing that would have to be measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from paraphrastic_hf.errors import counted
from paraphrastic_hf.io.files import PARTS_FOLDER, read_json

Config = Mapping[str, Any]
WITHIN_WORDS = {"sentencepiece": "word pieces", "word": "words"}  # tokens that cross no space
TOKENS = {**WITHIN_WORDS, "char": "characters", "char_ngram": "character n-grams"}
CELLS = {"lstm": "LSTM", "rnn": "RNN", "identity_rnn": "identity-RNN"}
POOLINGS = {"last": "the last", "mean": "the mean", "max": "the largest values"}
ORDERLESS = ("averaging", "weighted", "projection", "charagram")


PARSER = (
    "LSTMs in both directions read the vectors of the words; every span of words has a score for "
    "every label, and the tree is the best bracketing by CKY. Words and labels are those of the "
    "Penn Treebank, labels without functions."
)


def token_kind(tokenizer: Path) -> str:
    """What the tokenizer of a folder cuts text into: a key of `TOKENS`, `mixed`, or neither."""
    if (tokenizer / "ngrams.json").exists():
        return "char_ngram"
    path = tokenizer / "paraphrastic_tokenizer.json"
    return str(read_json(path)["kind"]) if path.exists() else ""


def tokens_of(kind: str) -> str:
    """What a kind of tokens is called."""
    return TOKENS.get(kind, "tokens")


def parts_of(config: Config, tokenizer: Path) -> list[tuple[Config, str]]:
    """The encoders of a mixture, each with its kind of tokens; an encoder alone is its only part.

    Args:
        config: The encoder's configuration.
        tokenizer: Folder of its tokenizer.
    """
    if token_kind(tokenizer) != "mixed":
        return [(config, token_kind(tokenizer))]
    folders = (tokenizer / PARTS_FOLDER / str(number) for number in range(len(config["parts"])))
    return [
        (part, token_kind(folder)) for part, folder in zip(config["parts"], folders, strict=True)
    ]


def composition(config: Config, tokenizer: Path) -> str:
    """What the vector of a text is, as the end of a sentence that begins so."""
    found = [
        FAMILIES.get(_family(part), _any)(part, tokens_of(kind))
        for part, kind in parts_of(config, tokenizer)
    ]
    if len(found) == 1:
        return found[0]
    joined = "; ".join(f"({number}) {text}" for number, text in enumerate(found, 1))
    how = {"concatenate": "side by side", "add": "added up"}[config["combine"]]
    return f"made of {len(found)}, {how} (thesis, 4.5.6): {joined}"


def word_order(config: Config, tokenizer: Path) -> str:
    """What the order of words can mean to an encoder; nothing if it may mean anything."""
    parts = parts_of(config, tokenizer)
    if not all(_is_orderless(part) for part, _ in parts):
        return ""
    if all(kind in WITHIN_WORDS for _, kind in parts):
        return 'Word order does not count: "dog bites man" has the vector of "man bites dog".'
    if any(kind == "char_ngram" for _, kind in parts):
        return "The order of words counts only where an n-gram of characters spans several."
    return "The order of characters, and so that of words, does not count."


def _is_orderless(config: Config) -> bool:
    return _family(config) in ORDERLESS or config.get("encoder_kind") == "average"


def _family(config: Config) -> str:
    return str(config["model_type"]).removeprefix("paraphrastic-").replace("-", "_")


def _any(config: Config, tokens: str) -> str:
    """Of a family without an entry: a card is no reason for a long run to fail."""
    return f"what a {_family(config)} model makes of its {tokens}"


def _projection(config: Config, tokens: str) -> str:
    layers = "a dense layer" if config["layers"] == 1 else "two dense layers"
    return f"{layers} ({config['activation']}) over the mean of the vectors of its {tokens}"


def _recurrent(config: Config, tokens: str) -> str:
    cell = CELLS[config["cell"]]
    reader = f"a bidirectional {cell}" if config["bidirectional"] else f"an {cell}"
    return (
        f"{POOLINGS[config['pooling']]} of the states of {reader} over its {tokens} (thesis, 4.4)"
    )


def _gated(config: Config, tokens: str) -> str:
    variant = {0: " without its gate", 1: ""}.get(config["variant"], f"-{config['variant']}")
    name = f"{'Bi' if config['bidirectional'] else ''}GRAN{variant}"
    return (
        f"what a gated recurrent averaging network, {name}, makes of its {tokens} (Wieting and "
        "Gimpel, 2017)"
    )


def _bgt(config: Config, tokens: str) -> str:
    kind = {"lstm": "an LSTM", "average": "an average"}.get(config["encoder_kind"], "a transformer")
    return (
        f"the mean of the variable {config.get('variable', 'semantic')}, which {kind} infers from "
        f"its {tokens} (bilingual generative transformer; thesis, 5.4)"
    )


def _mgt(config: Config, tokens: str) -> str:
    kind = "average" if config["encoder_kind"] == "average" else "transformer"
    return (
        f"the mean of the variable {config.get('variable', 'semantic')}, which one {kind} for "
        f"all of {', '.join(config['languages'])} infers from its {tokens} (multilingual "
        "generative transformer; thesis, 5.10)"
    )


FAMILIES: dict[str, Callable[[Config, str], str]] = {
    "averaging": lambda _, tokens: (
        f"the mean of the vectors of its {tokens} (thesis, 3.1.2, 5.1.1)"
    ),
    "weighted": lambda _, tokens: (
        f"the mean of the vectors of its {tokens}, each times a weight of its own (thesis, 3.4)"
    ),
    "projection": lambda config, tokens: f"{_projection(config, tokens)} (thesis, 3.1.2)",
    "recurrent": _recurrent,
    "gated": _gated,
    "charagram": lambda config, tokens: (
        f"the sum of the vectors of its {tokens}, and {config['activation']} of it (CHARAGRAM; "
        "thesis, 3.6.2)"
    ),
    "char_cnn": lambda _, tokens: (
        f"the largest outputs of filters over its {tokens} (charCNN; thesis, 3.7.2.3)"
    ),
    "bgt": _bgt,
    "mgt": _mgt,
}


def translator(config: Config, tokens: str) -> str:
    """What a translation model is, as a sentence.

    Args:
        config: The model's configuration.
        tokens: What its tokens are called.
    """
    encoder, decoder = config.get("encoder_layers"), config.get("decoder_layers")
    if encoder is None or decoder is None:  # what a run started from may be of any kind
        return (
            f"An encoder-decoder that translates, of transformers' own class for "
            f"{config['model_type']}, over {tokens}, entries {config['vocab_size']:,}."
        )
    if _family(config) == "gated_conv":
        return (
            f"A gated convolutional encoder-decoder (thesis, 7.3) over {tokens}: "
            f"{counted(encoder, 'layer')} "
            f"to read, {decoder} to write, each of these with attention; windows of "
            f"{config['kernel_width']}, dimensions {config['hidden_size']}, entries "
            f"{config['vocab_size']:,}."
        )
    return (
        f"A transformer that translates, of transformers' own class for {config['model_type']}, "
        f"over {tokens}: {counted(encoder, 'block')} to read, {decoder} to write, dimensions "
        f"{config.get('d_model') or config['hidden_size']}, entries {config['vocab_size']:,}."
    )


def paraphraser(config: Config, tokens: str) -> str:
    """What a paraphrase generator or a parse generator is, as a sentence.

    Args:
        config: The model's configuration.
        tokens: What its tokens are called.
    """
    writes, template = config.get("writes", "sentence"), config.get("template", "none")
    beside = {"parse": "a whole parse", "template": "a template, the top two levels of a parse"}
    what = "Writes parses" if writes == "parse" else "Writes paraphrases"
    steered = f" that follow {beside[template]}" if template in beside else ""
    family, entries = _family(config), f"entries {config['vocab_size']:,}"
    if family not in ("scpn", "paraphraser"):
        return (
            f"{what}{steered}: a transformer of transformers' own class for "
            f"{config['model_type']} over {tokens}, dimensions {config['d_model']}, {entries}."
        )
    section = "syntactically controlled paraphrase network; thesis, 6.3"
    if writes == "parse":
        tokens, section = "brackets and labels", "parse generator; thesis, 6.3.2"
    elif family == "paraphraser":
        section = "thesis, 4.6"
    copies = " and copy from their source" if config.get("use_copy") else ""
    return (
        f"{what}{steered}: a bidirectional LSTM reads, and what writes is "
        f"{counted(config['decoder_layers'], 'LSTM layer')} with bilinear attention{copies} "
        f"({section}), over {tokens}, dimensions "
        f"{config['hidden_size']}, {entries}."
    )
