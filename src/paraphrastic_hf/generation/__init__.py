"""Models that generate: what they say, and how likely they find what others say."""
