"""What the demo shows, as API objects: shards under two kinds of budget, and roles of a group."""
