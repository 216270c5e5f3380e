"""Typed, partial, frozen views of the Kubernetes objects that Intact reads and writes, and what can
be read off one object: the state of a pod, its conditions, times, amounts and labels.

A view names only the fields that Intact reads: the rest of an object is skipped while its bytes are
decoded and never takes memory. A view is therefore never written back whole; writes are patches, or
objects that Intact itself owns completely.
"""
