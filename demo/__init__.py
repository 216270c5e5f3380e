"""What Intact does, shown on a real Kubernetes: `python -m demo`. Not shipped."""
