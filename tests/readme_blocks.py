"""The output blocks of the README and the guides, made by the program: ``--write`` puts them in, without it they are compared.

A block is a fenced ``console`` block; each line that starts with ``$ `` is run by bash in a scratch directory that has the
repository's ``fixtures``, and what it prints on stdout follows. Durations are compared as ``N s``: they are the machine's.
A guide's directory also has the registry that its first lines speak of, and each configuration that begins with its file's name.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
MANUAL = ROOT / "docs" / "checks.md"
GUIDES = [*sorted((ROOT / "docs" / "integrations").glob("*.md")), ROOT / "docs" / "git.md"]
TUTORIAL = ROOT / "docs" / "tutorial.md"
REGISTRY = "assay crystallize fixtures/demo/rename.jsonl --registry skills -q"
BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")
FILE = re.compile(r"(?ms)^```yaml\n(# (\S+)\n.*?)^```$")
DURATION = re.compile(r"\d+(?:\.\d+)? m?s\b")


def commands(block: str) -> list[str]:
    """The command lines of a block."""
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def environment(scratch: Path) -> Mapping[str, str]:
    """As a user's at a desk (not in CI, where less is believed), with our program first on the path, no colours, and nothing
    kept outside the scratch directory."""
    inherited = {k: v for k, v in os.environ.items() if k != "CI" and not k.startswith(("ASSAY_", "GITHUB_"))}
    return {
        **inherited,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "ASSAY_CACHE": str(scratch / "cache"),
        "HOME": str(scratch / "home"),
        "XDG_DATA_HOME": str(scratch / "home" / "data"),
    }


def played(text: str, registry: Path | None = None) -> str:
    """A page with every block run anew, in order, in one scratch directory, which has a copy of the registry."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "work"
        work.mkdir()
        (Path(folder) / "home").mkdir()
        (work / "fixtures").symlink_to(ROOT / "fixtures")
        if registry is not None:
            shutil.copytree(registry, work / "skills", symlinks=True)
        for content, name in FILE.findall(text):
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text(content, encoding="utf-8")
        env = environment(Path(folder))

        def play(match: re.Match[str]) -> str:
            lines: list[str] = []
            for command in commands(match[1]):
                done = subprocess.run(["bash", "-c", command], cwd=work, env=env, capture_output=True, text=True, check=False)
                shown = done.stdout.replace(str(work), "/project").replace(str(Path(folder) / "home"), "/home/me")
                lines += [f"$ {command}", *(line.rstrip() for line in shown.rstrip("\n").splitlines())]
            return "```console\n" + "\n".join(lines) + "\n```"

        return BLOCK.sub(play, text)


def registry_in(folder: Path) -> Path:
    """A registry with the skill of the demo, for the guides."""
    (folder / "home").mkdir()
    (folder / "fixtures").symlink_to(ROOT / "fixtures")
    subprocess.run(["bash", "-c", REGISTRY], cwd=folder, env=environment(folder), capture_output=True, check=True)
    return folder / "skills"


def difference(found: str, made: str) -> str:
    """A unified diff of the two, durations apart; empty where they agree."""
    a, b = (DURATION.sub("N s", text).splitlines() for text in (found, made))
    return "\n".join(difflib.unified_diff(a, b, "README.md", "what the program prints", lineterm=""))


def manual() -> str:
    """The manual page of the checks, made from the checks themselves."""
    from verifiers.manual import render_manual

    return render_manual()


def shown(text: str) -> list[str]:
    """The command lines of ours in a page's blocks without a language, which are not run: without settings before them and
    remarks."""
    blocks = re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", text)
    lines = [line for language, block in blocks if not language for line in block.splitlines()]
    return [m[1].strip() for line in lines if (m := re.match(r"(?:[A-Z_]+=\S+ )*(assay [^#]+)", line))]


def misspelt(lines: Iterable[str]) -> list[str]:
    """The command lines of ours that have an option which their command has not; what names no command is passed over."""
    from synth.cli.program import COMMANDS

    split = ((line, shlex.split(line.replace("…", "x"))) for line in lines)
    return [line for line, words in split if len(words) > 1 and words[1] in COMMANDS and not _spelt_right(words[1:])]


def _spelt_right(words: list[str]) -> bool:
    """Whether a command, with those below it, has all these options. What follows ``--`` is another program's."""
    import click

    from synth.cli.program import assay

    command: click.Command = assay
    known, rest = {"--help", "-h", "--"}, words[: words.index("--")] if "--" in words else words
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        below = command.get_command(click.Context(command), rest[0])
        if below is None:
            return not _named(rest[0])
        command, rest = below, rest[1:]
    known |= {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
    return {w.split("=")[0] for w in rest if w.startswith("-")} <= known


def _named(word: str) -> bool:
    """Whether a word is meant as it stands: alternatives are written as ``a|b``, what the reader chooses in capitals."""
    return word.islower() and word.isalpha()


def main() -> int:
    if "--write" in sys.argv[1:]:
        MANUAL.write_text(manual(), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        registry = registry_in(Path(folder))
        pages = {README: None, TUTORIAL: None, **dict.fromkeys(GUIDES, registry)}
        found = "\n".join(filter(None, (_page(page, known) for page, known in pages.items())))
    sys.stdout.write(found + "\n" if found else "README and guides are what the program prints\n")
    return 1 if found else 0


def _page(page: Path, registry: Path | None) -> str:
    """How a page differs from what the program prints; with ``--write`` it is written anew, and does not."""
    text = page.read_text(encoding="utf-8")
    made = played(text, registry)
    if "--write" in sys.argv[1:]:
        page.write_text(made, encoding="utf-8")
        return ""
    return difference(text, made)


if __name__ == "__main__":
    sys.exit(main())
