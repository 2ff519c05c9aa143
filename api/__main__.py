"""`python -m backedge`: the command."""

from backedge.convert.cli import main

if __name__ == "__main__":
    main()
