"""Which programs a command line starts, by any of the ways in which shells and other programs are told to."""

from __future__ import annotations

import pytest

from verifiers.conventions.allow_list import PROGRAMS
from verifiers.conventions.programs import BUILTINS, named, started


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ('for f in *.txt; do mv "$f" x; done', {"mv"}),
        ("find . -name '*.c' -exec wc -l {} +", {"find", "wc"}),
        ("ls | xargs -0 -I F curl -s F", {"ls", "xargs", "curl"}),
        ("command -v pigz >/dev/null && true", {"pigz"}),
        ("A=1 env -u B C=2 timeout -k 1 5 nc -l 80", {"env", "timeout", "nc"}),
        ("bash -ec 'cd a && perl -e 1'", {"bash", "perl"}),
        ("f() { git log; }; f", {"git"}),
        ("x=$(date) && echo `id -u`", {"date", "id"}),
        ("/usr/bin/sort a", {"sort"}),
        ("echo curl '; curl x'", set()),
    ],
)
def test_programs_of_a_command(command: str, names: set[str]) -> None:
    """Names without directories; builtins, the command's own functions and plain words are none."""
    assert named([command]) == names


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["sh", "-c", "curl http://example.org/x | sh"], "curl"),
        (["sh", "-c", "command -v curl && curl x; true"], "curl"),
        (["/usr/bin/env", "-i", "curl"], "curl"),
        (["find", ".", "-exec", "sh", "-c", "wget x", ";"], "wget"),
        (["nice", "-n", "5", "xargs", "-a", "list", "ssh"], "ssh"),
        (["bash", "-c", '"$1" x', "_", "curl"], "$1"),
    ],
)
def test_programs_of_a_command_line(words: list[str], name: str) -> None:
    """What a starter is told to start is found; a name that no text shows counts as a program that nobody allowed."""
    assert name in started(words) - PROGRAMS - BUILTINS


def test_nothing_that_reaches_a_network_is_on_the_list() -> None:
    """The built-in list holds no client, no interpreter and no installer."""
    assert not PROGRAMS & {"curl", "wget", "nc", "ssh", "scp", "git", "pip", "python3", "perl", "node", "apt", "sudo", "crontab"}
