"""Which programs a command line starts, by any of the ways in which shells and other programs are told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox import open_sandbox
from sandbox.interface import RunRequest, ShellJob, SkillJob, Snapshot
from verifiers.checks.contained import CHECK
from verifiers.conventions.allow_list import PROGRAMS
from verifiers.conventions.programs import BUILTINS, named, started
from verifiers.evidence import load_evidence
from verifiers.interface import Binding, Verdict
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify

EXAMPLES = Path(__file__).parents[2] / "fixtures" / "examples"
STARTS = """
import subprocess
from skill_api import skill_command


@skill_command(autowire=True)
async def do_it() -> dict[str, object]:
    subprocess.run(["sh", "-c", "command -v nosuch1; ls | nosuch2; /usr/bin/true"], check=False)
    subprocess.run(["true", "--", "x"], check=True)
    try:
        subprocess.run(["nosuch3"], check=True)
    except FileNotFoundError:
        pass
    return {"ok": True}
"""


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
        ("goal=dist/$2-$3; a=$1.$2 ls", {"ls"}),
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


def test_what_stands_behind_a_shells_text_is_data() -> None:
    """A positional parameter that looks like ``-c`` starts nothing; options before the text do not hide it."""
    assert started(["bash", "-c", 'cat -- "$1"', "skill", "-contacts.vcf", "Friends"]) == {"bash", "cat"}
    assert "curl" in started(["bash", "--rcfile", "x", "-o", "pipefail", "-c", "curl y"])


def test_nothing_that_reaches_a_network_is_on_the_list() -> None:
    """The built-in list holds no client, no interpreter and no installer; what only reads, turns and packs files is there.
    ``zip -TT`` runs any command as its own child, which nobody hears of."""
    assert {"jq", "unzip", "column", "iconv", "awk"} <= PROGRAMS
    refused = "curl wget nc ssh scp git pip python3 perl node apt sudo crontab zip"
    assert not PROGRAMS & set(refused.split())


@pytest.mark.engine
def test_the_sandbox_tells_what_was_started_and_what_was_not_there() -> None:
    """Command lines of the skill's own process, and names that any process of the run looked for in vain."""
    with open_sandbox() as box, box.session("skill") as session, box.session("trace") as traces:
        record = session.run(RunRequest(SkillJob(STARTS, {}), Snapshot(), observe=True, looks=True))
        assert [words[0] for words in record.started] == ["sh", "true", "nosuch3"]
        assert record.started[1] == ("true", "--", "x")
        assert record.missing == ("nosuch1", "nosuch2", "nosuch3")
        plain = session.run(RunRequest(SkillJob(STARTS, {}), Snapshot(), observe=True))
        assert (len(plain.started), plain.missing) == (3, ("nosuch3",))
        shell = traces.run(RunRequest(ShellJob(("nosuch4 || true",)), Snapshot(), observe=True, looks=True))
        assert (shell.started, shell.missing) == ((), ("nosuch4",))


@pytest.mark.engine
def test_a_policy_can_allow_a_program() -> None:
    """What is refused without it passes with it, and nothing else changes."""
    example = next(e for e in CHECK.bad if "no recording names" in e.title)
    evidence = load_evidence(EXAMPLES / f"{example.evidence}.jsonl")
    bindings = {t: Binding(t, a) for t, a in example.args.items()}
    verdicts = []
    with open_sandbox() as box:
        for programs in (frozenset[str](), frozenset({"perl"})):
            options = Options(budget="fast", checks=frozenset({"contained"}), programs=programs)
            subject = parse_subject(example.source, "example.py")
            report = verify(subject, evidence, bindings, sandbox=box, options=options)
            verdicts.append(report.verdict)
            assert programs or "started perl" in report.why
    assert verdicts == [Verdict.FAIL, Verdict.PASS]
