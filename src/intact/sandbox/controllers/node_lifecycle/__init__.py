"""What becomes of nodes that are cordoned, lost or deleted, and of the pods on them."""
