"""The example that the rules of the omni profile vary."""

from __future__ import annotations

RENAME = '''from omni.foundation.api.decorators import skill_command


@skill_command(
    name="rename",
    description="""
    Rename files.

    Args:
        - old_ext: str - Extension to replace
        - new_ext: str = "md" - New extension

    Returns:
        A JSON text.
    """,
)
def rename({params}) -> str:
    return old_ext + new_ext
'''
PLAIN = 'old_ext: str, new_ext: str = "md"'
