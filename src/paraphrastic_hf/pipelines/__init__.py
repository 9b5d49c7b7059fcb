"""Making corpora of paraphrases from bitext: back-translation, scores, filters (thesis, 4.3)."""
