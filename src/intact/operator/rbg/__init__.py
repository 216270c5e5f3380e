"""RoleBasedGroups in a cluster: the objects of their roles, and coordinated rollouts."""
