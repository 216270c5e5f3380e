"""Benchmarks: the same work by Intact and by a peer, in one run, as a ratio."""
