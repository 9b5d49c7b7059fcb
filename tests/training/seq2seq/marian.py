"""A tiny Marian, trained and saved by plain transformers."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    DataCollatorForSeq2Seq,
    GenerationConfig,
    MarianConfig,
    MarianMTModel,
    PreTrainedTokenizerFast,
    PrinterCallback,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
)

WORDS = {
    "der": "the", "ein": "a", "Hund": "dog", "Vogel": "bird", "Mann": "man", "Baum": "tree",
    "schläft": "sleeps", "rennt": "runs", "singt": "sings", "hier": "here", "jetzt": "now",
    "dort": "there",
}  # fmt: skip
RECIPE = """
kind: minimum_risk
start: {start}
data: {{sources: [{{path: {pairs}, languages: [en, de]}}], target_language: en, held_out: 12}}
candidates: {{count: 4}}
cost: {{metric: half}}
training: {{epochs: 10, batch_tokens: 300, learning_rate: 0.002, probability: token}}
run: {{log_every: 1, evaluate_every: 1000, checkpoint_every: 5}}
"""


def sentences() -> list[tuple[str, str]]:
    """Return 96 German sentences with their word-by-word translations."""
    return [
        tuple(" ".join(side) for side in zip(*((w, WORDS[w]) for w in german), strict=True))
        for article in ("der", "ein")
        for noun in ("Hund", "Vogel", "Mann", "Baum")
        for verb in ("schläft", "rennt", "singt")
        for rest in ((), ("hier",), ("jetzt",), ("dort", "jetzt"))
        for german in [(article, noun, verb, *rest)]
    ]  # type: ignore[misc]


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer of whole words of both languages, with an end token."""
    entries = ["<pad>", "</s>", "<unk>", *WORDS, *WORDS.values()]
    words = {word: number for number, word in enumerate(entries)}
    backend = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


SIZES = {"d_model": 32, "max_position_embeddings": 64, "dropout": 0.1, "init_std": 0.2} | {
    f"{side}_{key}": value
    for side in ("encoder", "decoder")
    for key, value in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 64))
}
IDS = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}


def write_marian(folder: Path, steps: int = 32) -> Path:
    """Train with `Seq2SeqTrainer` until about half the translations are right, and save."""
    words = tokenizer()
    torch.manual_seed(1)
    model = MarianMTModel(
        MarianConfig(
            vocab_size=len(words), **SIZES, **IDS, forced_eos_token_id=None, scale_embedding=True
        )
    )
    model.generation_config = GenerationConfig(**IDS, max_length=40)
    rows = [
        {"input_ids": words(german)["input_ids"], "labels": words(english)["input_ids"]}
        for german, english in sentences()
    ]
    arguments = Seq2SeqTrainingArguments(
        str(folder / "trainer"), max_steps=steps, per_device_train_batch_size=24,
        learning_rate=5e-3, use_cpu=True, save_strategy="no", report_to=[], disable_tqdm=True,
        logging_strategy="no", seed=1,
    )  # fmt: skip
    collator = DataCollatorForSeq2Seq(words, model=model)
    trainer = Seq2SeqTrainer(model, arguments, train_dataset=rows, data_collator=collator)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    model.save_pretrained(folder / "marian")
    words.save_pretrained(folder / "marian")
    return folder / "marian"


def write_pairs(folder: Path) -> Path:
    """Write the sentences as a file of English and German."""
    path = folder / "pairs.tsv"
    lines = [f"{english}\t{german}" for german, english in sentences()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
