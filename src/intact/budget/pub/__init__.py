"""PodUnavailableBudgets: what a pod costs, what is counted, what may be stored."""
