"""`python -m release`, which `make release` runs."""

import sys

from release.cli import main

sys.exit(main())
