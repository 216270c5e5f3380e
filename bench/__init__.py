"""Benchmarks: Intact and a peer do the same work in one run; the result is a ratio."""
