"""Timing, text, tables and plots that the benchmarks share."""
