"""Deleting and evicting."""
