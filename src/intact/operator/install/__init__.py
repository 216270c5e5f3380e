"""Putting Intact into a cluster, and taking it out."""
