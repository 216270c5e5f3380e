"""Deployments: what they want of their ReplicaSets, and what they say of them."""
