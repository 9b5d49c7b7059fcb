"""A small random BERT model of sentence-transformers."""

WORDS = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *("the", "a", "cat", "dog", "mat", "sleeps", "on"),
]


def save_bert(folder):
    """Write a two-layer BERT with mean pooling and return its path."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast, set_seed

    (folder / "vocab.txt").write_text("\n".join(WORDS))
    set_seed(1)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder / "model")
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder / "model")
    transformer = Transformer(str(folder / "model"), max_seq_length=64)
    SentenceTransformer(modules=[transformer, Pooling(32, "mean")]).save(str(folder / "st"))
    return folder / "st"
