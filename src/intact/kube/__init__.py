"""The Kubernetes API: config, client, reflector and store, queue, lease, events.

`Client` speaks through a `Transport`. Two exist: `HttpTransport` to a real API server, and
`memory.MemoryApi`, an API server in memory. Everything above the transport is the same code.
"""
