"""What runs in the cluster."""
