"""What kube-controller-manager does: workloads make pods, and what is left over is collected."""
