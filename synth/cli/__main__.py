"""``python -m synth.cli``."""

from synth.cli.program import main

main()
