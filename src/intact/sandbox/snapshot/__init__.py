"""One file with what a rehearsal needs to know of a cluster."""
