"""`python -m landfast` is the `landfast` command."""

import sys

from landfast.cli import main

if __name__ == "__main__":
    sys.exit(main())
