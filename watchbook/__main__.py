"""`python -m watchbook` is the `watchbook` program."""

from watchbook.project.cli import main

if __name__ == "__main__":
    main()
