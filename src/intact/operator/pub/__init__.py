"""PodUnavailableBudgets in a cluster: the gate, and the leader's recount."""
