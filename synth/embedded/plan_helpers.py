"""Private functions about a plan that a skill may carry, as text: what a run is to put in place is put aside first, so that the
next one can finish what a killed one began. Each has a form without what no recording does: nobody could say that it is right."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from hashlib import sha256
from itertools import product

PLAN = f".{sha256(b'plan').hexdigest()[:16]}.skill-plan"
"""Where a run keeps what it has still to put in place."""

_PLANNED = '''
def _planned(stage: Path, plan: Path) -> None:
    """Put aside in one step what makes the workspace like the stage."""
    part = plan.with_suffix(".skill-part")
    new = [p for p in _below(stage) if not os.path.isdir(p) and (_is_folder(stage / p) or not _same(stage / p, Path(p)))] #makes
    new = [p for p in _below(stage) if not _is_folder(stage / p) and not _same(stage / p, Path(p))] #keeps
    gone = [p for p in _below(Path()) if not os.path.lexists(stage / p) and not _unfinished(Path(p).name)] #goes
    gone = [p for p in gone if not _is_folder(Path(p))] #files
    gone = [p for p in gone if _is_folder(Path(p))] #folders
    if new or gone: #goes
    if new: #stays
        (part / "new").mkdir(parents=True)
        (part / "gone").write_text(json.dumps(gone)) #goes
        for name in new:
            kept = part / "new" / name
            kept.parent.mkdir(parents=True, exist_ok=True)
            if _is_folder(stage / name): #makes
                kept.mkdir() #makes
                kept.chmod((stage / name).stat().st_mode & 0o7777) #makes
            else: #makes
                shutil.copy(stage / name, kept, follow_symlinks=False) #makes
            shutil.copy(stage / name, kept, follow_symlinks=False) #keeps
        part.replace(plan)
'''
_FINISHED = '''
def _finished(plan: Path) -> int:
    """Do what a plan says, if there is one; return how much that was. Killed anywhere, it may be begun again."""
    part, done = plan.with_suffix(".skill-part"), 0
    if plan.is_dir():
        for name in _below(plan / "new"):
            source = plan / "new" / name
            if not _is_folder(source):
                source.replace(name)
                done += 1
            elif not os.path.isdir(name): #makes
                mode = source.stat().st_mode & 0o7777 #makes
                Path(name).mkdir(mode) #makes
                Path(name).chmod(mode) #makes
                done += 1 #makes
        for name in [p for p in reversed(json.loads((plan / "gone").read_text())) if os.path.lexists(p)]: #goes
            Path(name).rmdir() if _is_folder(Path(name)) else Path(name).unlink() #both
            Path(name).unlink() #files
            Path(name).rmdir() #folders
            done += 1 #goes
        plan.replace(part)
    if part.is_dir():
        shutil.rmtree(part)
    return done
'''


def form_of(makes: bool, removed: Collection[str]) -> str:
    """The ending of both functions' names where recordings make folders, and remove paths of these types."""
    folders, files = "dir" in removed, bool({*removed} - {"dir"})
    goes = "both" if folders and files else "folders" if folders else "files" if files else "stays"
    return f":{'makes' if makes else 'keeps'}-{goes}"


def forms() -> Iterator[tuple[str, str, str, bool]]:
    """Of each form its ending, both texts, and whether paths go."""
    for makes, removed in product((True, False), ((), ("file",), ("dir",), ("file", "dir"))):
        form = form_of(makes, removed)
        wanted = {f"#{mark}" for mark in (*form[1:].split("-"), *(("goes",) if removed else ()))}
        yield form, _chosen(_PLANNED, wanted), _chosen(_FINISHED, wanted), bool(removed)


def _chosen(text: str, wanted: set[str]) -> str:
    """The lines without a mark, and those with one of these."""
    pairs = [line.rpartition(" #") for line in text.splitlines()]
    return "".join(f"{line if cut else mark}\n" for line, cut, mark in pairs if not cut or f"#{mark}" in wanted)
