"""Typed, partial, frozen views of the Kubernetes objects that Intact reads and writes.

No logic lives here. A view names only the fields that somebody reads: the rest of an object is
skipped while its bytes are decoded and never takes memory. A view is therefore never written back
whole; writes are patches, or objects that Intact itself owns completely.
"""
