"""Intact keeps multi-pod replicas whole on Kubernetes."""
