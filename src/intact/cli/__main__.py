"""`python -m intact.cli`: the command `intact`, where the package is not installed."""

from intact.cli.main import main

main(prog_name="intact")
