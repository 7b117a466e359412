"""`python -m search` is `hms`. Workers are started so: a child of theirs need not import a main module of this name."""

from search.cli import main

if __name__ == "__main__":
    main()
