"""The admission webhooks: server, certificates and registration."""
