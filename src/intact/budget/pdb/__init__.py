"""PodDisruptionBudgets: counting pods as Kubernetes does, or groups."""
