"""What the spec of a RoleBasedGroup may say, and what it means."""
