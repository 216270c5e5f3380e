"""`intact rbg …`: RoleBasedGroups, by hand."""
