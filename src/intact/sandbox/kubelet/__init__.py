"""What the kubelets of a cluster do: nodes are ready, and pods on them start, run and end.

They read the same annotations as the stages of the development cluster's kwok, so that one manifest
behaves alike on both. `pod_life` decides, `pod_status` writes; both are pure.
"""
