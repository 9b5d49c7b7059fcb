"""Names of metrics and options, for the command line: importing the metrics themselves is slow."""

PENALTIES = ("both", "brevity", "excess", "none")
UNITS = ("tokens", "characters")  # units of length
SEVERAL = ("best", "mean")  # score of a segment with several references
SIMILARITIES = ("windows", "strict-windows", "sentences")
UTILITIES = ("simile", "sim", "bleu", "chrf")  # of minimum Bayes risk
