"""`python -m toledo`: the command line."""

from toledo.cli.app import main

main()
