"""The API server in memory: routing, storage, reads and watches."""
