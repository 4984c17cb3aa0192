"""The surface: few commands, old names that say the new ones, the nearest name, how things stand, how much is said."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from factories import draft, report

from sandbox.interface import Cause, SandboxError
from sandbox.recipe import load_recipe
from synth.cli.diff import _judged
from synth.cli.next_steps import REFUSED, keep_draft, keep_refusal
from synth.cli.program import OLD, assay, run
from synth.cli.settings import Judging
from synth.cli.targets import target_of
from synth.cli.verifying import Verifier
from synth.config import Config
from synth.crystallization.outcome import PatternOutcome
from synth.hooks.receive import default_store
from synth.registry import Registry
from synth.store.moments import Moment
from synth.store.tasks import Store
from synth.tracing.collector import TraceCollector
from synth.tracing.traces import load_traces
from verifiers.formats.text import bound
from verifiers.gating.discover import find
from verifiers.interface import CheckResult, Finding, Report, Verdict

ROOT = Path(__file__).parents[2]
TRACES = ROOT / "fixtures" / "demo" / "rename.jsonl"
RENAME = ROOT / "fixtures" / "skills" / "rename_ext"
MOST_OPTIONS, MOST_SLOTS = 118, 324
"""Different ones, and all of all commands."""


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    made = draft("batch_rename")
    newer = draft("batch_rename", source=made.source.replace("changed = 0", "changed = 0 + 0"))
    with Registry(tmp_path / "skills") as opened:
        opened.register(made, report(made))
        opened.register(newer, report(newer), supersedes="batch_rename", require_approval=True)
    return tmp_path / "skills"


@pytest.mark.parametrize(
    ("argv", "note"),
    [
        (["replay", "nobody", "--checks", "generalises"], "--checks is now --check"),
        (["replay", "nobody", "--static"], "--static says nothing to 'assay replay'"),
        (["replay", "nobody", "--all"], "--all says nothing to 'assay replay'"),
        (["answer", "nobody", "1", "--skill", "--static"], "--static says nothing to 'assay answer'"),
        (["registry", "add", "empty", "--static"], "--static says nothing to 'assay registry add'"),
        (["registry", "add", "empty", "--checks", "generalises"], "--checks says nothing to 'assay registry add'"),
        (["registry", "rename", "nobody", "--to", "x", "--no-cache"], "--no-cache says nothing to 'assay registry rename'"),
        (["registry", "verify", "nobody", "--no-cache"], "--no-cache says nothing to 'assay registry verify'"),
    ],
)
def test_options_that_said_nothing_work_and_say_so(
    argv: list[str],
    note: str,
    tmp_path: Path,
    registry: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A line on stderr and no help; the command goes on as without them, here until it finds no skill."""
    monkeypatch.setenv("ASSAY_REGISTRY", str(registry))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent.sock")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    run(argv)
    told = capsys.readouterr().err
    assert told.count(f"note: {note}; it goes with the next release\n") == 1
    assert "No such option" not in told
    run([*argv[: 2 if argv[0] == "registry" else 1], "--help"])
    assert not re.search(f"^ +{note.split()[0]}( |$)", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(
    ("argv", "new"),
    [
        (["patterns", str(TRACES)], "assay crystallize --dry-run"),
        (["synth", str(TRACES)], "assay crystallize --drafts DIR"),
        (["feedback", "batch_rename", "ok"], "assay route --outcome NAME ok|fail"),
        (["registry", "seeds"], "assay route --seeds"),
        (["registry", "bench", "batch_rename", "0.5"], "assay route --bench NAME SCORE"),
        (["registry", "archive", "batch_rename"], "assay registry retire"),
        (["registry", "revoke", "batch_rename"], "assay registry retire --forever"),
        (["explain", "generalises"], "assay verify --explain CHECK"),
        (["metrics"], "assay registry metrics"),
        (["completion", "bash"], "assay config completion"),
    ],
)
def test_old_names_work_and_say_the_new_one(
    argv: list[str], new: str, registry: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr, the output as before; the registry comes from the environment."""
    monkeypatch.setenv("ASSAY_REGISTRY", str(registry))
    assert run(argv) == 0
    told = capsys.readouterr()
    assert told.err.count(f"is now '{new}'") == 1
    assert told.out
    run([argv[0], "--help"])
    assert f"  {argv[-1]} " not in capsys.readouterr().out


def test_what_was_four_verbs_is_one(registry: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`activate` takes up what waits, goes back, and restores; `retire` archives, and withdraws forever."""
    where = ["--registry", str(registry)]
    with Registry(registry) as opened:
        first, second = (e.version for e in opened.versions_of("batch_rename"))

    def active() -> str | None:
        with Registry(registry) as opened:
            return next((e.version for e in opened.list("active")), None)

    assert run(["registry", "activate", *where, "batch_rename", second]) == 3  # it waits for an approval
    assert run(["registry", "activate", *where, "batch_rename", "--approver", "Ada"]) == 2
    assert run(["registry", "activate", *where, "batch_rename", second, "--approver", "Ada"]) == 0
    assert active() == second
    assert run(["registry", "activate", *where, "batch_rename"]) == 0
    assert active() == first
    assert run(["registry", "retire", *where, "batch_rename"]) == 0
    assert active() is None
    assert run(["registry", "activate", *where, "batch_rename", first]) == 0
    assert active() == first
    capsys.readouterr()
    assert run(["registry", "retire", *where, "batch_rename", "--forever"]) == 0
    assert capsys.readouterr().out.count("is revoked") == 2


def test_every_name_of_before_leads_to_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    """All of them say where their work is done now, and none is listed."""
    names = {path for path, _ in walk(assay, click.Context(assay, info_name="assay"))}
    for old, (_, now) in OLD.items():
        assert run([old, "--help"]) == 0
        assert f"'assay {old}' is now 'assay {now}'" in capsys.readouterr().err
        assert f"assay {old}" not in names
        assert f"assay {now}" in names or f"assay {now.split()[0]}" in names


@pytest.mark.parametrize(
    ("argv", "what"),
    [
        (["--fix", "--watch"], "--watch says nothing with --fix"),
        (["--explain", "parses"], "SKILL says nothing with --explain"),
        (["--against", "x", "--static"], "--static says nothing with --against"),
        (["--diff"], "--diff says nothing without --fix"),
        (["--recorded"], "--recorded says nothing without --against"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(argv: list[str], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What `verify` does instead of verifying has few options."""
    assert run(["verify", str(RENAME), *argv]) == 2
    assert what in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["crystalize", "x"], "assay crystallize"),
        (["verfiy", "x"], "assay verify"),
        (["patern"], "assay crystallize --dry-run"),
        (["list"], "assay registry list"),
        (["registry", "lst"], "assay registry list"),
        (["registry", "promot"], "assay registry activate"),
        (["engine", "imge"], "assay engine image"),
        (["explian", "generalises"], "assay verify --explain CHECK"),
        (["atest", "sign"], "assay registry attest"),
    ],
)
def test_a_misspelt_command_is_recognised(argv: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, and what was meant, by its new name."""
    assert run(argv) == 2
    assert f"Did you mean '{meant}'?" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["promote", "revoke", "approve"])
def test_what_is_no_misspelling_is_not_guessed(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``assay promote`` does not mean ``assay route``."""
    assert run([word]) == 2
    assert "Did you mean" not in capsys.readouterr().err


def test_alone_it_says_how_things_stand(
    registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Engine, recordings, what is due, skills, what waits, drafts, and one next step; nothing is made."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent.sock")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert run([]) == 0
    told = capsys.readouterr().out
    assert "recordings  0 in " in told
    assert told.splitlines()[-1] == "next        assay engine up --install && assay engine image"
    assert list(here.iterdir()) == []
    monkeypatch.setenv("ASSAY_REGISTRY", str(registry))
    (here / "assay.yaml").write_text("evolution: {trace_dir: traces}\n", encoding="utf-8")
    (here / "traces").mkdir()
    for n, line in enumerate(TRACES.read_text(encoding="utf-8").splitlines()):
        (here / "traces" / f"20260101_00000{n}_t_0.json").write_text(line, encoding="utf-8")
    (here / "tidy").mkdir()
    (here / "tidy" / "skill.py").write_text("x\n", encoding="utf-8")
    assert run([]) == 0
    told = capsys.readouterr().out
    assert "due         1 repeated task without a skill: rename_suffix_files" in told
    assert "skills      1 active in " in told
    assert "drafts      1 here: tidy" in told
    assert "waiting     batch_rename " in told


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with three recordings of one task in its own store and no configuration."""
    for name in ("CI", "ASSAY_REGISTRY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("sandbox.status.engine_status", lambda *args, **more: SimpleNamespace(missing=""))
    made = tmp_path / "project"
    store = TraceCollector(Config(made).trace_dir)
    for trace in load_traces(TRACES):
        store.store(trace)
    monkeypatch.chdir(made)
    return made


def standing(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    assert run([]) == 0
    return {name: rest for name, _, rest in (line.partition(" ") for line in capsys.readouterr().out.splitlines())}


def refusal(settings: Config, **more: Any) -> PatternOutcome:
    """Of all recordings; its draft is kept as ``crystallize`` does."""
    made = replace(draft("tidy"), evidence=tuple(load_traces(TRACES)))
    outcome = PatternOutcome("tidy", tuple(t.task_id for t in made.evidence), **{"ending": "refused", "why": "", **more})
    keep_refusal(outcome, settings)
    keep_draft(replace(outcome, draft=made), settings)
    return outcome


def test_what_was_refused_is_a_draft_and_not_due(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Until something new of it is recorded, or another version can try; what an engine hindered is due as before."""
    settings = Config(project)
    refusal(settings, ending="inconclusive")
    told = standing(capsys)
    assert told["due"].strip().startswith("1 repeated task")
    assert told["next"].strip() == "assay crystallize"
    refusal(settings)
    refusal(settings)
    told = standing(capsys)
    assert told["due"].strip().startswith("0 repeated tasks")
    assert told["drafts"].strip() == "1 here: .assay/drafts/tidy"
    assert told["next"].strip() == "assay verify .assay/drafts/tidy"
    notes = settings.path(REFUSED)
    (line,) = notes.read_text(encoding="utf-8").splitlines()
    notes.write_text("{\n" + line.replace(json.loads(line)["version"], "0") + "\n", encoding="utf-8")
    assert standing(capsys)["due"].strip().startswith("1 repeated task")
    notes.write_text(line, encoding="utf-8")
    newer = replace(next(t for t in load_traces(TRACES) if t.success), task_id="new")
    TraceCollector(settings.trace_dir).store(newer)
    assert standing(capsys)["due"].strip().startswith("1 repeated task")


def test_a_draft_that_became_a_skill_is_no_draft_any_more(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that a person mended and registered lies there still."""
    settings, made = Config(project), draft("tidy")
    keep_draft(PatternOutcome("tidy", (), "refused", "", draft=made), settings)
    assert standing(capsys)["drafts"].strip().startswith("1 here")
    with Registry(settings.registry_dir) as opened:
        opened.register(made, report(made))
    assert "drafts" not in standing(capsys)


def test_below_a_project_it_speaks_of_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As git does; the next step goes there first. A directory with recordings of its own is its own project."""
    below = project / "src" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    told = standing(capsys)
    assert told["project"].strip() == str(project)
    assert not told["recordings"].strip().startswith("0 ")
    assert told["next"].strip() == f"cd {project} && assay crystallize"
    (below / ".assay").mkdir()
    told = standing(capsys)
    assert "project" not in told
    assert told["recordings"].strip().startswith("0 ")
    assert not (project / "src" / ".assay").exists()
    shutil.rmtree(below / ".assay")
    project.chmod(0o777)
    assert "project" not in standing(capsys)


def test_what_hooks_recorded_is_counted(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And what they saw often enough here is the next step, until something came of it or it was refused; elsewhere's is not."""
    shutil.rmtree(project / ".assay")
    kept = Store(default_store())
    assert "hooks" not in standing(capsys)
    kept.begin("codex", "s", project, {"text": "x"}).rename(kept.root / "tasks" / "1.jsonl")
    recording = tmp_path / "a b.jsonl"
    shutil.copy(TRACES, recording)
    for key, root in (("here", project), ("there", tmp_path / "other")):
        kept.moments.put(Moment(key, f"tidy_{key}", str(root), "codex", (), str(recording), "assay: …", time.time()), "told")
    told = standing(capsys)
    assert told["hooks"].strip() == f"1 task recorded in {kept.root}"
    assert told["often"].strip() == "tidy_here"
    assert told["next"].strip() == f"assay crystallize '{recording}'"
    refusal(Config(project))
    assert "often" not in standing(capsys)


def test_less_and_more_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """`-q` leaves the result, `-v` names each step in a log too, and the next command says what is usual again."""
    argv = ["verify", str(RENAME), "--static", "--no-cache"]
    assert run([*argv, "-v"]) == 0
    assert "static checks" in capsys.readouterr().err
    assert run(argv) == 0
    usual = capsys.readouterr()
    assert usual.err == ""
    assert run(["gate", str(RENAME), "--static", "--no-cache", "-q"]) == 0
    assert capsys.readouterr().err == ""
    assert run(["crystallize", str(TRACES), "--dry-run", "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_what_belongs_to_no_task_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Too few and failed recordings are listed, each with how many are needed or what was wrong."""
    base = json.loads(TRACES.read_text(encoding="utf-8").splitlines()[0])
    ways = ("sed -i 's/\\r$//' a.txt", "tr -d '\\r' < a.txt > b && mv b a.txt", "dos2unix a.txt")
    rows = [
        {**base, "metadata": {}, "task_id": f"t{n}", "task_description": "Strip carriage returns from a.txt", "commands": [way],
         "outputs": [""], "exit_codes": [0], "success": n != 2}
        for n, way in enumerate(ways)
    ]  # fmt: skip
    file = tmp_path / "t.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    assert run(["crystallize", str(file), "--dry-run"]) == 4
    told = capsys.readouterr().err
    assert "t0: 'Strip carriage returns from a.txt': 2 of the 3 successful recordings that make a task" in told
    assert "t2: 'Strip carriage returns from a.txt': the recording failed" in told


class Images:
    """An engine's images, of which one is in use."""

    def __init__(self, tags: dict[str, int]) -> None:
        self.tags = tags

    def labelled(self, label: str) -> dict[str, int]:
        assert label == "assay.recipe"
        return dict(self.tags)

    def image_labels(self, tag: str) -> dict[str, str]:
        return {"assay.project": load_recipe().tag} if tag == "assay-sandbox:project" else {}

    def untag(self, tag: str) -> None:
        if tag == "assay-sandbox:busy":
            raise SandboxError(Cause.PROTOCOL, "it is in use")
        del self.tags[tag]


def test_prune_keeps_what_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Images of earlier recipes and old cache files go; today's, a project's on it, one in use, new files stay."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    old, new = tmp_path / "assay" / "verdicts" / "old.json", tmp_path / "skill-assay" / "new"
    for file in (old, new):
        file.parent.mkdir(parents=True)
        file.write_text("x" * 10)
    os.utime(old, (0, 0))
    current = load_recipe().tag
    store = Images({current: 1 << 20, "assay-sandbox:busy": 1, "assay-sandbox:old": 1, "assay-sandbox:project": 1})
    monkeypatch.setattr("sandbox.image_store.open_images", lambda host: contextlib.nullcontext(store))
    assert run(["engine", "prune", "--dry-run"]) == 0
    assert "would go image assay-sandbox:old" in capsys.readouterr().out
    assert old.exists()
    assert "assay-sandbox:old" in store.tags
    assert run(["engine", "prune"]) == 0
    told = capsys.readouterr().out
    assert f"kept     image {current} (1 MiB)" in told
    assert "kept     image assay-sandbox:busy (0 MiB): it is in use" in told
    assert set(store.tags) == {current, "assay-sandbox:busy", "assay-sandbox:project"}
    assert not old.exists()
    assert new.exists()


def test_gc_removes_what_nobody_names(registry: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory without an entry goes; every registered version stays, and the registry is whole."""
    stray = registry / "versions" / ("0" * 64)
    stray.mkdir()
    (stray / "skill.py").write_text("x = 1\n")
    assert run(["registry", "gc", "--registry", str(registry)]) == 0
    told = capsys.readouterr().out
    assert "removed 000000000000" in told
    assert "2 versions in " in told
    assert not stray.exists()
    with Registry(registry) as opened:
        assert [opened.versions.intact(e.version) for e in opened.versions_of("batch_rename")] == [True, True]


def test_one_score_everywhere(
    registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A registered version is judged as the registry judged it, wherever its files lie; CI believes no registry."""
    monkeypatch.delenv("CI", raising=False)
    with Registry(registry) as opened:
        entry = opened.list("active")[0]
        origin = opened.origin(entry.name, entry.version)
    assert origin.unseen
    (target,) = find([registry])
    assert Verifier(Judging()).job(target).options.unseen == origin.unseen
    assert Verifier(Judging()).job(target_of(RENAME)).options.unseen == frozenset()
    copy = shutil.copytree(target.home, tmp_path / "copy")
    (copy / "notes.txt").write_text("Not of the version.")
    assert Verifier(Judging()).job(target_of(copy)).options.unseen == frozenset()
    assert Verifier(Judging(), registry=registry).job(target_of(copy)).options.unseen == origin.unseen
    monkeypatch.setenv("ASSAY_REGISTRY", str(registry))
    assert Verifier(Judging()).job(target_of(copy)).options.unseen == origin.unseen
    (copy / "SKILL.md").write_text("other")
    assert Verifier(Judging()).job(target_of(copy)).options.unseen == frozenset()
    monkeypatch.delenv("ASSAY_REGISTRY")
    monkeypatch.setenv("CI", "true")
    assert Verifier(Judging()).job(target).options.unseen == frozenset()
    monkeypatch.delenv("CI")
    assert run(["route", "rename all txt files to md", "--registry", str(registry)]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["skill", "score"]
    assert row.split()[1] == bound(entry.score)
    assert run(["registry", "show", entry.name, "--registry", str(registry)]) == 0
    assert f"score          at least {bound(entry.score)}\n" in capsys.readouterr().out


def test_diff_tells_what_a_failing_check_finds_now() -> None:
    """Both versions fail one check: that is no difference, what it finds in one of them alone is."""

    def failing(*messages: str) -> Report:
        found = tuple(Finding(text) for text in messages)
        return replace(report(draft()), checks=(CheckResult("generalises", Verdict.FAIL, found),))

    assert list(_judged(failing("a", "b"), failing("a", "b"))) == []
    assert list(_judged(failing("a", "b"), failing("b", "c"))) == [
        "generalises: still FAIL, found now: c", "generalises: still FAIL, not found any more: a",
    ]  # fmt: skip


def walk(command: click.Command, ctx: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Every command and group with how it is called, but names of before."""
    yield ctx.command_path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            assert below is not None
            if not below.hidden:
                yield from walk(below, click.Context(below, parent=ctx, info_name=name))


def test_the_surface_does_not_grow() -> None:
    """Ceilings: what is new takes the place of something. ``-h``, ``-q`` and ``-v`` apart, which all have."""
    usual = {"--help", "--quiet", "--verbose"}
    found = dict(walk(assay, click.Context(assay, info_name="assay")))
    options = {
        path: {max(p.opts, key=len) for p in command.params if isinstance(p, click.Option) and not p.hidden} - usual
        for path, command in found.items()
    }
    assert sum(path.count(" ") == 1 for path in found) <= 16
    assert sum(not isinstance(command, click.Group) for command in found.values()) <= 47
    assert len(set.union(*options.values())) <= MOST_OPTIONS
    assert sum(map(len, options.values())) <= MOST_SLOTS
    assert max(map(len, options.values())) <= 33


def test_each_command_can_say_less_and_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`-q` and `-v` stand at every command and group, once; before the command they hold for it too."""
    for path, command in walk(assay, click.Context(assay, info_name="assay")):
        flags = [flag for p in command.params for flag in p.opts]
        assert [flags.count(flag) for flag in ("-q", "--quiet", "-v", "--verbose")] == [1, 1, 1, 1], path
    recorded = ["--task", "say it", "--workspace", str(tmp_path), "-o", str(tmp_path / "t.jsonl"), "--", "true"]
    for argv in (["record", "-q", *recorded], ["-q", "record", *recorded]):
        assert run(argv) == 0
        assert capsys.readouterr().err == ""
    assert run(["record", *recorded]) == 0
    assert "recorded " in capsys.readouterr().err
