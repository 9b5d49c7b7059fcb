"""Text generation, and the likelihood of given text."""
