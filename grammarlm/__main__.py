"""`python -m grammarlm` is the command `grammarlm`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
