"""The choices that metrics offer (thesis, 7.2.1), where a command line can read them at once."""

PENALTIES = ("both", "brevity", "excess", "none")
UNITS = ("tokens", "characters")  # of length
SEVERAL = ("best", "mean")  # score of a segment with several references
SIMILARITIES = ("windows", "sentences")
UTILITIES = ("simile", "sim", "bleu", "chrf")  # of minimum Bayes risk
