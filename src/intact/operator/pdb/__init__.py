"""PodDisruptionBudgets in a cluster: budgets in groups, and the disruption controller."""
