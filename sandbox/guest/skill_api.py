"""What a skill imports: the ``skill_command`` decorator, ``Query`` and ``nu``.

This module is on the path inside the sandbox, is what mypy sees when it checks a skill, and is what ``synth.load`` offers
to a registered skill in the running process. Standard library only.
"""
