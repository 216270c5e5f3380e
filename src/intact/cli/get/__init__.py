"""`intact get`: budgets, groups and pods in tables."""
