"""Run the command line: ``python -m oversight``."""

import sys

from oversight.harness.cli.main import main

sys.exit(main())
