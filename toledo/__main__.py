"""`python -m toledo`: the command line."""

from toledo.cli import main

main()
