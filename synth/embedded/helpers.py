"""Private functions that a skill may carry, as text: those about contents here. Each is written out only where it is used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from synth.embedded import path_helpers as paths
from synth.embedded.plan_helpers import forms
from synth.embedded.states.helpers import TEXTS


@dataclass(frozen=True, slots=True)
class Helper:
    text: str
    imports: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


_UNFINISHED = r'''
def _unfinished(name: str) -> bool:
    """Say whether this is what a killed run left of a file that it was writing."""
    return re.fullmatch(r"\.[0-9a-f]{16}\.skill-part", name) is not None
'''

_PUT = '''
def _put(path: Path, data: bytes, mode: int = 0o666) -> int:
    """Give a file this content in one step; return 1, or 0 where it has it already."""
    path = Path(os.path.realpath(path))
    stale = not path.is_file() or path.read_bytes() != data
    if stale:
        part = path.with_name(f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}.skill-part")
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            stream.write(data)
        shutil.copymode(next(filter(Path.exists, (path, part))), part)
        part.replace(path)
    return int(stale)
'''

_PUT_OVER = '''
def _put(path: Path, data: bytes, mode: int = 0o666) -> int:
    """Give a file that is there this content in one step; return 1, or 0 where it has it already."""
    path = Path(os.path.realpath(path))
    stale = path.read_bytes() != data
    if stale:
        part = path.with_name(f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}.skill-part")
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            stream.write(data)
        shutil.copymode(path, part)
        part.replace(path)
    return int(stale)
'''

_PUT_NEW = '''
def _put(path: Path, data: bytes, mode: int = 0o666) -> int:
    """Make a file with this content in one step; return 1, or 0 where there is something already."""
    missing = not os.path.lexists(path)
    if missing:
        part = path.with_name(f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}.skill-part")
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            stream.write(data)
        part.replace(path)
    return int(missing)
'''

_SET = '''
def _set(path: Path, data: bytes, mode: int) -> int:
    """Replace a file or link by a file with this content and mode in one step; return 1."""
    part = path.with_name(f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}.skill-part")
    part.unlink(missing_ok=True)
    part.write_bytes(data)
    part.chmod(mode)
    part.replace(path)
    return 1
'''

_APPEND = '''
def _append(path: Path, block: bytes) -> int:
    """Let a file end in this block; return 1, or 0 where it does already."""
    data = path.read_bytes() if path.exists() else b""
    whole = data + b"\\n" * (not data.endswith(b"\\n") and data != b"")
    return _put(path, data if (b"\\n" + data).endswith(b"\\n" + block) else whole + block)
'''

_ADD = '''
def _add(path: Path, block: bytes) -> int:
    """Let a file have these lines, at its end where they are missing; return 1, or 0 where it has them already."""
    data = path.read_bytes() if path.exists() else b""
    there = set(data.splitlines()) >= set(block.splitlines())
    return _put(path, data if there else data + block)
'''

_APPEND_OVER = '''
def _append(path: Path, block: bytes) -> int:
    """Let a file that is there end in this block; return 1, or 0 where it does already."""
    data = path.read_bytes()
    whole = data + b"\\n" * (not data.endswith(b"\\n") and data != b"")
    return _put(path, data if (b"\\n" + data).endswith(b"\\n" + block) else whole + block)
'''

_ADD_OVER = '''
def _add(path: Path, block: bytes) -> int:
    """Let a file that is there have these lines, at its end where they are missing; return 1, or 0 where it has them."""
    data = path.read_bytes()
    there = set(data.splitlines()) >= set(block.splitlines())
    return _put(path, data if there else data + block)
'''

_PREPEND = '''
def _prepend(path: Path, block: bytes) -> int:
    """Let a file begin with this block; return 1, or 0 where it does already."""
    data = path.read_bytes()
    return _put(path, data if data.startswith(block) else block + data)
'''

_RUN = '''
def _run(argv: list[str], data: bytes = b"", accepted: int = 0) -> bytes:
    """Return what one program prints for this input; raise where it fails."""
    done = subprocess.run(argv, input=data, capture_output=True, check=False)
    said = done.stderr.decode(errors="replace").strip()
    if not 0 <= done.returncode <= accepted:
        raise RuntimeError(f"{argv[0]} failed: {said}")
    return done.stdout
'''

_HOLDS = '''
def _holds(argv: list[str], data: bytes = b"") -> bool:
    """Say whether one program's exit status is 0 for this input, not 1; raise where it fails."""
    done = subprocess.run(argv, input=data, capture_output=True, check=False)
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{argv[0]} failed: {said}")
    return done.returncode == 0
'''

_RUN_IN = '''
def _run(argv: list[str], data: bytes = b"", accepted: int = 0, folder: str = ".") -> bytes:
    """Return what one program prints for this input; raise where it fails."""
    done = subprocess.run(argv, input=data, capture_output=True, check=False, cwd=folder)
    said = done.stderr.decode(errors="replace").strip()
    if not 0 <= done.returncode <= accepted:
        raise RuntimeError(f"{argv[0]} failed: {said}")
    return done.stdout
'''

_RUN_WITH = '''
def _run_with(argv: list[str], data: bytes, more: bytes, accepted: int = 0) -> bytes:
    """Return what one program prints for two inputs, the second of them at /dev/fd/3; raise where it fails."""
    number = os.memfd_create("more")
    with os.fdopen(number, "wb") as stream:
        stream.write(more)
        stream.flush()
        argv = [f"/dev/fd/{number}" if word == "/dev/fd/3" else word for word in argv]
        done = subprocess.run(argv, input=data, capture_output=True, check=False, pass_fds=(number,))
    said = done.stderr.decode(errors="replace").strip()
    if not 0 <= done.returncode <= accepted:
        raise RuntimeError(f"{argv[0]} failed: {said}")
    return done.stdout
'''

_REPLACED = '''
def _replaced(data: bytes, old: bytes, new: bytes) -> bytes:
    """Replace old by new, but leave what is new already where new holds old."""
    parts = data.split(new) if old in new else [data]
    return new.join(part.replace(old, new) for part in parts)
'''

_SUBSTITUTED = '''
def _substituted(data: bytes, old: str, new: str, count: int) -> bytes:
    """Replace a pattern in every line; count 0 means every occurrence."""
    lines = [(line.removesuffix(b"\\n"), line.endswith(b"\\n")) for line in io.BytesIO(data)]
    return b"".join(re.sub(old.encode(), new.encode(), text, count=count) + b"\\n" * ended for text, ended in lines)
'''

_LINES = '''
def _lines(data: bytes) -> list[bytes]:
    """Return the lines of a text without their ends."""
    return data.removesuffix(b"\\n").split(b"\\n") if data else []
'''

_TEXT = '''
def _text(lines: list[bytes]) -> bytes:
    """Return lines as a text, each with its end."""
    return b"".join(line + b"\\n" for line in lines)
'''

_NUMBER = r'''
def _number(line: bytes) -> Decimal:
    """Return the number that a line begins with, 0 where it begins with none."""
    found = re.match(rb"[ \t]*(-?(?:\d+\.?\d*|\.\d+))", line)
    return Decimal(found[1].decode()) if found else Decimal()
'''

_FIELDS = '''
def _fields(line: bytes, mark: bytes, *places: slice) -> bytes:
    """Return the parts of a line at these places, the whole line where it holds no mark."""
    parts = line.split(mark)
    wanted = sorted({n for place in places for n in range(len(parts))[place]})
    return mark.join(parts[n] for n in wanted) if len(parts) > 1 else line
'''

_QUOTED = '''
def _quoted(text: str, special: str) -> str:
    """Return the text with a backslash before each of these characters."""
    return "".join(f"\\\\{c}" if c in special else c for c in text)
'''

_INSERTED = '''
def _inserted(data: bytes, place: Callable[[int, str], bool], block: str, after: bool) -> bytes:
    """Put a block beside each line that ``place`` takes (number from 1, text), but not where it stands already."""
    lines = data.decode(errors="surrogateescape").splitlines(keepends=True)
    out = ""
    for k, line in enumerate(lines):
        taken = place(k + 1, line.rstrip("\\n"))
        there = "".join(lines[k + 1 :]).startswith(block) if after else ("\\n" + out).endswith("\\n" + block)
        out += block if taken and not after and not there else ""
        out += line if line.endswith("\\n") or not (taken and after) else line + "\\n"
        out += block if taken and after and not there else ""
    return out.encode(errors="surrogateescape")
'''

_NEED = '''
def _need(path: Path, pattern: str) -> None:
    """Raise where no line of a file has what the change goes by."""
    lines = path.read_bytes().decode(errors="surrogateescape").split("\\n")
    if not any(re.search(pattern, line) for line in lines):
        raise LookupError(f"{path}: no line has {pattern!r}")
'''

_STANDS = '''
def _stands(new: bytes, old: bytes, values: list[str]) -> bool:
    """Say whether all that new has more than old is a text next to the very same one, with one of the values in it."""
    more = len(new) - len(old)
    start = next((k for k, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    text = new[start : start + more]
    only = more > 0 and old[start:] == new[start + more :]
    told = any(0 < len(value := os.fsencode(x)) <= more and value in text * 2 for x in values)
    return all([only, told, old[:start].endswith(text)])
'''

_SHELL_RUN = """
    done = subprocess.run(["bash", "-c", PROGRAM, "skill", *values], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    said = done.stderr.decode(errors="replace").strip()
    """
_SHELL_END = """
        raise RuntimeError(f"exit status {done.returncode}: {said}")
    return done.stdout
"""


def _shell(raises: str, test: str) -> str:
    head = "\ndef _shell(values: list[str]) -> bytes:"
    doc = f'    """Return what the program prints, values handed over as positional parameters; raise where it {raises}."""'
    return f"{head}\n{doc}{_SHELL_RUN}if {test}:{_SHELL_END}"


_SHELL = _shell("fails", "done.returncode != 0")
_SHELL_SAID = _shell("complains", "done.returncode != 0 or said")
"""Where programs run whose exit status nobody asks for: ``<(…)``."""

_SHELL_IN = '''
def _shell(values: list[str], folder: Path) -> None:
    """Run the program in a folder, values handed over as positional parameters; raise where it fails."""
    done = subprocess.run(
        ["bash", "-c", PROGRAM, "skill", *values], stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=folder
    )
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode != 0:
        raise RuntimeError(f"exit status {done.returncode}: {said}")
'''

_VACANT = '''
def _vacant(path: Path, data: bytes) -> None:
    """Raise where a path is taken by anything but this content."""
    if os.path.lexists(path) and path.read_bytes() != data:
        raise FileExistsError(f"{path} exists already")
'''

_ZIPPED = '''
def _zipped(paths: list[Path]) -> bytes:
    """Return a zip archive of these files and folders; equal content gives equal bytes."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for path in paths:
            info = zipfile.ZipInfo(f"{path}{'/' * path.is_dir()}", (1980, 1, 1, 0, 0, 0))
            info.external_attr = (path.stat().st_mode & 0xFFFF) << 16
            archive.writestr(info, b"" if path.is_dir() else path.read_bytes())
    return memory.getvalue()
'''

_PUT_IMPORTS = ("hashlib", "os", "shutil", "Path")


def _of_plan(form: str, planned: str, finished: str, goes: bool) -> Iterator[tuple[str, Helper]]:
    needs = ("os", "shutil", "Path", *(("json",) if goes else ()))
    yield f"_planned{form}", Helper(planned, needs, ("_below", "_same", "_is_folder", *(("_unfinished",) if goes else ())))
    yield f"_finished{form}", Helper(finished, needs, ("_below", "_is_folder"))


HELPERS: Mapping[str, Helper] = {
    "_walk": Helper(paths.WALK, ("Iterator", "Path")),
    "_walk:gone": Helper(paths.WALK_GONE, ("os", "Iterator", "Path")),
    "_glob": Helper(paths.GLOB, ("fnmatch", "Path")),
    "_run": Helper(_RUN, ("os", "subprocess")),
    "_holds": Helper(_HOLDS, ("os", "subprocess")),
    "_run:in": Helper(_RUN_IN, ("os", "subprocess")),
    "_run_with": Helper(_RUN_WITH, ("os", "subprocess")),
    "_put": Helper(_PUT, _PUT_IMPORTS),
    "_put:over": Helper(_PUT_OVER, _PUT_IMPORTS),
    "_put:new": Helper(_PUT_NEW, ("hashlib", "os", "Path")),
    "_set": Helper(_SET, ("hashlib", "os", "Path")),
    "_replaced": Helper(_REPLACED),
    "_unfinished": Helper(_UNFINISHED, ("re",)),
    "_substituted": Helper(_SUBSTITUTED, ("io", "re")),
    "_lines": Helper(_LINES),
    "_text": Helper(_TEXT),
    "_number": Helper(_NUMBER, ("re", "Decimal")),
    "_fields": Helper(_FIELDS),
    "_quoted": Helper(_QUOTED),
    "_inserted": Helper(_INSERTED, ("Callable",)),
    "_need": Helper(_NEED, ("re", "Path")),
    "_shell": Helper(_SHELL, ("os", "subprocess")),
    "_shell:said": Helper(_SHELL_SAID, ("os", "subprocess")),
    "_shell:in": Helper(_SHELL_IN, ("os", "subprocess", "Path")),
    "_below": Helper(paths.BELOW, ("os", "Path")),
    "_zipped": Helper(_ZIPPED, ("io", "zipfile", "Path")),
    "_append": Helper(_APPEND, ("Path",), ("_put",)),
    "_add": Helper(_ADD, ("Path",), ("_put",)),
    "_append:over": Helper(_APPEND_OVER, ("Path",), ("_put",)),
    "_add:over": Helper(_ADD_OVER, ("Path",), ("_put",)),
    "_prepend": Helper(_PREPEND, ("Path",), ("_put",)),
    "_rename": Helper(paths.RENAME, ("os", "Path")),
    "_move": Helper(paths.MOVE, ("os", "Path")),
    "_copy": Helper(paths.COPY, ("Path",), ("_put",)),
    "_copy_tree": Helper(paths.COPY_TREE, ("Path",), ("_put",)),
    "_copy_tree:flat": Helper(paths.COPY_TREE_FLAT, ("Path",), ("_put",)),
    "_copy_tree:links": Helper(paths.COPY_TREE_LINKS, ("os", "Path"), ("_put", "_link")),
    "_link": Helper(paths.LINK, ("os", "Path")),
    "_relink": Helper(paths.RELINK, ("hashlib", "os", "Path")),
    "_chmod": Helper(paths.CHMOD, ("Path",)),
    "_mkdir": Helper(paths.MKDIR, ("Path",)),
    "_mkdir:like": Helper(paths.MKDIR_LIKE, ("Path",)),
    "_vacant": Helper(_VACANT, ("os", "Path")),
    "_same": Helper(paths.SAME, ("io", "os", "tarfile", "Path")),
    "_give": Helper(paths.GIVE, ("hashlib", "os", "shutil", "Path")),
    "_is_folder": Helper(paths.IS_FOLDER, ("stat", "Path")),
    "_stands": Helper(_STANDS, ("os",)),
    "_placed": Helper(paths.PLACED, ("os", "re", "Path")),
    "_move:new": Helper(paths.MOVE_NEW, ("os", "Path")),
    "_mkdir:plain": Helper(paths.MKDIR_PLAIN, ("Path",)),
    "_touch": Helper(paths.TOUCH, ("Path",)),
    "_unlink": Helper(paths.UNLINK, ("os", "Path")),
    "_rmtree": Helper(paths.RMTREE, ("os", "shutil", "Path")),
    "_rmdir": Helper(paths.RMDIR, ("os", "Path")),
    **{name: Helper(text, (), needs) for name, (text, needs) in TEXTS.items()},
    **{name: helper for form in forms() for name, helper in _of_plan(*form)},
}


def over_existing(names: set[str]) -> set[str]:
    """These helpers, and for those that write files the form that only writes over one: what no recording makes is not made."""
    used = closure(names)
    return names | {f"{n}:over" for n in used if f"{n}:over" in HELPERS}


def closure(names: set[str]) -> list[str]:
    """The helpers with all that they call, in the table's order."""
    todo, seen = list(names), set(names)
    while todo:
        for need in HELPERS[todo.pop()].needs:
            if need not in seen:
                seen.add(need)
                todo.append(need)
    shadowed = {n.partition(":")[0] for n in seen if ":" in n}
    return [n for n in HELPERS if n in seen and n not in shadowed]
