"""``python -m podium``: the command line."""

from podium.cli import main

main()
