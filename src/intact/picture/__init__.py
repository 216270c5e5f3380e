"""What stands in a cluster at one moment, as people ask for it: budgets, units and pods."""
