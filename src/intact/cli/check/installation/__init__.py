"""Whether Intact is installed and works: one line for each question."""
