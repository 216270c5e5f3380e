"""DaemonSets: which nodes they want, and a pod on each."""
