"""Corpora of paraphrases made from bitext: back-translation, scores, filters (thesis, 4.3)."""
