import sys

try:
    from demo.cli import main

    code = main()
except KeyboardInterrupt:  # while it is still being imported
    code = 130
sys.exit(code)
