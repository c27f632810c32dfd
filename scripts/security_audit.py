"""`watchbook notes security-audit` under the name that the document gives it; takes the same options."""

from __future__ import annotations

import sys

from watchbook.project.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["notes", "security-audit"]
    main()
