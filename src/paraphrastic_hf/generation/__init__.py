"""Text generation, and likelihoods of given texts."""
