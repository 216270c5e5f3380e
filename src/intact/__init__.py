"""Intact keeps multi-pod replicas whole on Kubernetes."""

__version__ = "0.1.0"
