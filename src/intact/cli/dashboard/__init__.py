"""`intact dashboard`: a local page that shows groups, budgets and nodes, and changes nothing."""
