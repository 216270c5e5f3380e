"""`intact why`: what holds a pod, a node, a budget, a group or a RoleBasedGroup."""
