"""The Kubernetes API: config, client, reflector and store, queue, lease, events.

`Client` speaks through a `Transport`. There are two: `HttpTransport` to a real API server, and the
sandbox's `MemoryApi`, an API server in memory. Everything above the transport is the same code.
"""
