"""Loads the tokenizer of a model directory, of whichever kind it is."""

from __future__ import annotations

from pathlib import Path

from paraphrastic_hf.errors import ModelError, ParaphrasticError, in_a_line, refused
from paraphrastic_hf.extras import require
from paraphrastic_hf.io.files import PARTS_FOLDER, other_loader, read_json
from paraphrastic_hf.text.bpe import BytePairTokenizer
from paraphrastic_hf.text.char import CharTokenizer
from paraphrastic_hf.text.contract import TextTokenizer
from paraphrastic_hf.text.marks import MarkedTokenizer
from paraphrastic_hf.text.mixed import MixedTokenizer
from paraphrastic_hf.text.subword import SubwordTokenizer
from paraphrastic_hf.text.word import WordTokenizer

CHAR_NGRAMS = "ngrams.json"
STOCK = "tokenizer.json"
Loaded = SubwordTokenizer | WordTokenizer | CharTokenizer | BytePairTokenizer
TOKENIZERS: dict[str, type[Loaded]] = {
    "sentencepiece": SubwordTokenizer,
    "word": WordTokenizer,
    "char": CharTokenizer,
    "bpe": BytePairTokenizer,
}


def load_tokenizer(directory: str | Path) -> TextTokenizer:
    """Load the tokenizer of a model directory written by this package, in its fastest form.

    Of a model that sentence-transformers or transformers has saved again, `tokenizer.json` is
    enough.

    Raises:
        ModelError: The directory holds no tokenizer of this package.
    """
    directory = Path(directory)
    if (directory / CHAR_NGRAMS).exists():
        return _char_ngrams(directory)
    path = directory / "paraphrastic_tokenizer.json"
    if not path.exists() and (directory / STOCK).exists():
        require("train", "google.protobuf", what=f"{directory}, which other software has saved,")
        from paraphrastic_hf.text.rebuilt import rebuild_tokenizer  # imports protobuf

        return rebuild_tokenizer(directory / STOCK)
    if not path.exists() and (directory / PARTS_FOLDER).is_dir():
        path = directory / "tokenizer_config.json"  # transformers has saved the mixture again
    try:
        settings = read_json(path)
        if path.name == "tokenizer_config.json":
            settings = {"kind": "mixed", "parts": settings["parts"]}
        kind, marks = settings.pop("kind"), settings.pop("marks", None)
        opens_prompts = bool(settings.pop("opens_prompts", False))
        flags = {name: value for name, value in settings.items() if name != "parts"}
        if any(not isinstance(value, bool) for value in flags.values()):
            raise ValueError(f"its settings must be true or false, got {str(flags)[:200]}")
        if kind == "mixed":
            folders = (directory / PARTS_FOLDER / str(k) for k in range(settings["parts"]))
            return MixedTokenizer([load_tokenizer(folder) for folder in folders])
        loaded = TOKENIZERS[kind].load(directory, **settings)
        if marks is None:
            return loaded
        return MarkedTokenizer(loaded, marks, opens_prompts=opens_prompts)
    except FileNotFoundError as error:
        raise ModelError(
            f"{directory} holds no tokenizer of this package (it has no "
            f"{Path(error.filename or path).name}); give a directory written by `paraphrastic "
            f"train`, or {other_loader(directory)}"
        ) from error
    except ParaphrasticError:
        raise
    except Exception as error:  # other libraries raise many kinds
        raise ModelError(
            f"{directory} holds no tokenizer of this package ({path.name}: {in_a_line(error)}); "
            f"give a directory written by `paraphrastic train`, or {other_loader(directory)}"
        ) from error


def _char_ngrams(directory: Path) -> TextTokenizer:
    require("train", "transformers", what=f"{directory}, a model of character n-grams,")
    from paraphrastic_hf.text.char_ngram import CharNgramTokenizer  # imports transformers

    path = directory / "tokenizer_config.json"
    with refused(ModelError, f"{directory} holds no whole n-gram tokenizer"):
        if "orders" not in read_json(path):
            raise ValueError("no orders")  # text would be cut by default orders, and differently
        tokenizer: TextTokenizer = CharNgramTokenizer.from_pretrained(
            str(directory), trust_remote_code=False
        )
    return tokenizer
