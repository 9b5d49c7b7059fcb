"""Names of metrics and of their options (thesis, 7.2.1). The command line reads them from here,
because importing the metrics is slow."""

PENALTIES = ("both", "brevity", "excess", "none")
UNITS = ("tokens", "characters")  # of length
SEVERAL = ("best", "mean")  # score of a segment with several references
SIMILARITIES = ("windows", "sentences")
UTILITIES = ("simile", "sim", "bleu", "chrf")  # of minimum Bayes risk
