"""LeaderWorkerSets, as their own controller (lws.sigs.k8s.io) keeps them.

A set has a StatefulSet of leaders. Each leader owns a StatefulSet of its workers: what ends a
leader ends its group.
"""
