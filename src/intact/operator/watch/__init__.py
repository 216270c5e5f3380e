"""What all controllers watch: pods, their owners, and which budgets cover them."""
