"""PodDisruptionBudgets in a cluster: those that count groups, and the disruption controller."""
