"""What will happen to a cluster: a maintenance carried out on a copy of it, in simulated time."""
