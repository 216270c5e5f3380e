"""The pods of RoleBasedGroups: new ones, where they run, their labels, evictions."""
