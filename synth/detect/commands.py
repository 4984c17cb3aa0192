"""What detection knows of commands by name: whose words are programs, which flags say the same, which choose nothing."""

from __future__ import annotations

_TOOLS = """
    git svn hg docker podman kubectl helm npm yarn pnpm pip pip3 apt apt-get dpkg brew cargo go systemctl service gh aws gcloud az
    terraform conda openssl ip ufw crontab tmux nmcli journalctl make flatpak snap dnf yum poetry uv nox tar 7z ar
"""
SUBCOMMANDS = frozenset(_TOOLS.split())
"""Tools whose first operand says what they do."""
BUNDLED = frozenset({"tar", "ar", "7z"})
"""… unless flags say it."""
INTERPRETERS = frozenset({"python", "python3", "perl", "ruby", "node", "bash", "sh", "zsh", "dash"})
ALIASES = {"mawk": "awk", "nawk": "awk", "gsed": "sed", "rg": "grep", "yq": "jq", "mysql": "sqlite3", "psql": "sqlite3"}
"""Programs whose words are another's."""
FIND_TESTS = frozenset(
    {"-name", "-iname", "-type", "-path", "-ipath", "-maxdepth", "-mindepth", "-size", "-mtime", "-newer", "-perm"}
)
IGNORED_FLAGS = frozenset({"-print0", "-0", "--null", "-z", "-Z", "-print", "--", "--no-run-if-empty"})
"""Flags that choose how lists are handed on, not what is done."""
SURROUNDINGS = frozenset({"LC_ALL", "LC_COLLATE", "LC_CTYPE", "LANG"})
"""Variables that a command is run under; what it does is the same."""
SEARCHERS = frozenset({"find", "grep", "egrep", "fgrep", "rg", "ls", "du", "tree"})
"""Commands for which ``.`` is, after a ``cd``, the place that they would have been told without it."""
SHORT = {
    "sed": {"--in-place": "-i", "--expression": "-e", "--quiet": "-n", "--silent": "-n", "--regexp-extended": "-E", "-r": "-E"},
    "grep": {"--count": "-c", "--ignore-case": "-i", "--invert-match": "-v", "--extended-regexp": "-E", "--fixed-strings": "-F"},
    "sort": {"--unique": "-u", "--reverse": "-r", "--numeric-sort": "-n"},
    "rm": {"--recursive": "-r", "--force": "-f"},
    "cp": {"--recursive": "-r", "--archive": "-a", "-R": "-r"},
    "mkdir": {"--parents": "-p"},
}
"""Long flags, and the short ones that say the same."""
PROGRAM_NEXT = frozenset({"-e", "--expression", "--regexp"})
"""Flags that say only that the next word is the program."""
PROGRAM_FLAGS = frozenset({"-e", "--expression", "--regexp", "-c", "-n", "-ne", "-pe", "-lane"})
"""Flags after which a program comes."""
