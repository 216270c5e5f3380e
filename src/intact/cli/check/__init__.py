"""`intact check`: the installation, and the budgets of a cluster or of files."""
