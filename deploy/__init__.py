"""What is shipped besides the package: the chart."""
