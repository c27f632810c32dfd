"""`python -m watchbook` is the `watchbook` program."""

import os
import sys

# Python puts the current folder first: a file there that is called like a module of the library would replace it.
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if sys.path and os.path.abspath(sys.path[0]) == os.getcwd() != _HOME:
    del sys.path[0]

from watchbook.project.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
