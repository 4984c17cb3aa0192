"""What detection knows of commands by name: which only look or run others, whose words are programs, which flags take values."""

from __future__ import annotations

import re

from synth.detect.programs import CODE, REGEX, SETS

_OBSERVERS = """
    ls dir cat tac head tail wc grep egrep fgrep rg find file stat du df pwd echo printf sort uniq cut tr nl od xxd hexdump md5sum
    sha1sum sha256sum sha512sum cksum sum diff cmp comm paste join column fold fmt pr expand rev seq jq yq awk gawk mawk sed which
    type whereis whoami id uname date env printenv true false test [ [[ tree less more basename dirname realpath readlink bc expr
    strings zcat bzcat xzcat zgrep history ps locate tsort factor col colrm look iconv base64 sleep wait read let : export set
    shopt declare local alias hostname nproc free uptime getent tput xargs time command exec nice numfmt shuf cal sqlite3 tar
    unzip
"""
OBSERVERS = frozenset(_OBSERVERS.split())
"""Commands that change no file of a workspace by themselves; exceptions are below."""
WRITING_FLAGS: dict[str, re.Pattern[str]] = {
    "sed": re.compile(r"-[a-zA-Z]*i.*|--in-place.*"),
    "sort": re.compile(r"-[a-z]*o.*|--output.*"),
    "find": re.compile(r"-delete|-fprint.*|-fls"),
    "awk": re.compile(r"inplace"),
    "gawk": re.compile(r"inplace"),
    "yq": re.compile(r"-[a-z]*i.*"),
    "tar": re.compile(r"-?[a-zA-Z]*[cxru][a-zA-Z]*|--(create|extract|append|update|delete)"),
    "unzip": re.compile(r"(?!-[lpt])[^-].*"),
    "sqlite3": re.compile(r"(?is).*\b(insert|update|delete|create|drop|alter|import)\b.*"),
}
_TOOLS = """
    git svn hg docker podman kubectl helm npm yarn pnpm pip pip3 apt apt-get dpkg brew cargo go systemctl service gh aws gcloud az
    terraform conda openssl ip ufw crontab tmux nmcli journalctl make flatpak snap dnf yum poetry uv nox tar 7z ar
"""
SUBCOMMANDS = frozenset(_TOOLS.split())
"""Tools whose first operand says what they do."""
BUNDLED = frozenset({"tar", "ar", "7z"})
"""… unless flags say it."""
GIT_READS = frozenset(
    {"status", "log", "diff", "show", "ls-files", "rev-parse", "blame", "grep", "describe", "shortlog", "rev-list", "cat-file"}
)
OPERANDS_BEFORE = {"sqlite3": 1, "mysql": 1, "psql": 1}
"""Operands of commands with a program that come before it: its database."""
WRAPPERS = frozenset({"sudo", "env", "time", "nice", "nohup", "command", "exec", "xargs", "timeout", "stdbuf", "doas"})
INTERPRETERS = frozenset({"python", "python3", "perl", "ruby", "node", "bash", "sh", "zsh", "dash"})
PROGRAMMED = CODE | REGEX | SETS | INTERPRETERS
FIND_TESTS = frozenset(
    {"-name", "-iname", "-type", "-path", "-ipath", "-maxdepth", "-mindepth", "-size", "-mtime", "-newer", "-perm"}
)
IGNORED_FLAGS = frozenset({"-print0", "-0", "--null", "-z", "-Z", "-print", "--", "--no-run-if-empty"})
"""Flags that choose how lists are handed on, not what is done."""
SURROUNDINGS = frozenset({"LC_ALL", "LC_COLLATE", "LC_CTYPE", "LANG"})
"""Variables that a command is run under; what it does is the same."""
SEARCHERS = frozenset({"find", "grep", "egrep", "fgrep", "rg", "ls", "du", "tree"})
"""Commands for which ``.`` is, after a ``cd``, the place that they would have been told without it."""
_VALUES = {
    "awk gawk mawk nawk": {"-v": 1, "-F": 1, "-f": 1, "--assign": 1},
    "jq yq": {"--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2, "--indent": 1},
    "grep egrep fgrep rg": {"-m": 1, "-A": 1, "-B": 1, "-C": 1, "-f": 1},
    "sed gsed": {"-l": 1, "-f": 1},
    "sqlite3": {"-separator": 1, "-cmd": 1, "-nullvalue": 1},
}
TAKES_VALUES = {name: flags for names, flags in _VALUES.items() for name in names.split()}
"""Flags of commands with a program among their words, and how many words after them are not that program."""
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
