"""Private functions that a skill may carry, as text. Each is written out only where it is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Helper:
    text: str
    imports: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


PART_SUFFIX = ".skill-part"
"""End of the name of an unfinished file. It is short and does not repeat the target's name, which may be long."""

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
        shutil.copymode(path if path.exists() else part, part)
        part.replace(path)
    return int(stale)
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
    return _put(path, data if data.endswith(block) else data + block)
'''

_ADD = '''
def _add(path: Path, block: bytes) -> int:
    """Let a file have these lines, at its end where they are missing; return 1, or 0 where it has them already."""
    data = path.read_bytes() if path.exists() else b""
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

_WALK = '''
def _walk(root: Path) -> Iterator[Path]:
    """Yield root and all that lies below it, by name, parents first, links not followed."""
    root.lstat()
    yield root
    if root.is_dir() and not root.is_symlink():
        for child in sorted(root.iterdir()):
            yield from _walk(child)
'''

_WALK_GONE = '''
def _walk(root: Path) -> Iterator[Path]:
    """Yield root, if it is there, and all that lies below it, by name, parents first, links not followed."""
    if os.path.lexists(root):
        yield root
    if root.is_dir() and not root.is_symlink():
        for child in sorted(root.iterdir()):
            yield from _walk(child)
'''

_GLOB = '''
def _glob(folder: Path, pattern: str) -> list[Path]:
    """Return what the shell pattern matches in a folder, hidden names left out, by name."""
    found = (p for p in folder.iterdir() if fnmatch.fnmatchcase(p.name, pattern))
    return sorted(p for p in found if not p.name.startswith("."))
'''

_RENAME = '''
def _rename(source: Path, target: Path) -> int:
    """Rename without overwriting; return 1. Raise where the new name is taken."""
    if os.path.lexists(target):
        raise FileExistsError(f"{target} exists already")
    source.rename(target)
    return 1
'''

_MOVE = '''
def _move(source: Path, target: Path) -> int:
    """Move one path; return 1, or 0 where it is at its target already."""
    there = os.path.lexists(source)
    if not there and not os.path.lexists(target):
        raise FileNotFoundError(f"{source} does not exist")
    if there:
        source.replace(target)
    return int(there)
'''

_COPY = '''
def _copy(source: Path, target: Path) -> int:
    """Copy one file; return 1, or 0 where the target has its content already."""
    return _put(target, source.read_bytes(), source.stat().st_mode & 0o777)
'''

_COPY_TREE = '''
def _copy_tree(source: Path, target: Path) -> int:
    """Copy a folder with all that is in it to target; return the number of files written."""
    if not source.is_dir():
        raise NotADirectoryError(f"{source} is not a directory")
    changed = 0
    target.mkdir(mode=source.stat().st_mode & 0o777, exist_ok=True)
    for path in sorted(source.iterdir()):
        if path.is_dir():
            changed += _copy_tree(path, target / path.name)
        else:
            changed += _put(target / path.name, path.read_bytes(), path.stat().st_mode & 0o777)
    return changed
'''

_COPY_TREE_FLAT = '''
def _copy_tree(source: Path, target: Path) -> int:
    """Copy a folder of files to target; return the number of files written."""
    if not source.is_dir():
        raise NotADirectoryError(f"{source} is not a directory")
    target.mkdir(mode=source.stat().st_mode & 0o777, exist_ok=True)
    return sum(_put(target / p.name, p.read_bytes(), p.stat().st_mode & 0o777) for p in sorted(source.iterdir()))
'''

_COPY_TREE_LINKS = '''
def _copy_tree(source: Path, target: Path) -> int:
    """Copy a folder with all that is in it, links as links, to target; return the number of files and links made."""
    if not source.is_dir():
        raise NotADirectoryError(f"{source} is not a directory")
    changed = 0
    target.mkdir(mode=source.stat().st_mode & 0o777, exist_ok=True)
    for path in sorted(source.iterdir()):
        if path.is_symlink():
            changed += _link(os.readlink(path), target / path.name)
        elif path.is_dir():
            changed += _copy_tree(path, target / path.name)
        else:
            changed += _put(target / path.name, path.read_bytes(), path.stat().st_mode & 0o777)
    return changed
'''

_LINK = '''
def _link(target: str, link: Path) -> int:
    """Make a symbolic link; return 1, or 0 where it is there already. Raise where the name is taken."""
    missing = not link.is_symlink() or os.readlink(link) != target
    if missing:
        link.symlink_to(target)
    return int(missing)
'''

_RELINK = '''
def _relink(target: str, link: Path) -> int:
    """Let a symbolic link point to this target, in one step; return 1, or 0 where it does already."""
    wrong = not link.is_symlink() or os.readlink(link) != target
    if wrong:
        part = link.with_name(f".{hashlib.sha256(os.fsencode(link.name)).hexdigest()[:16]}.skill-part")
        part.unlink(missing_ok=True)
        part.symlink_to(target)
        part.replace(link)
    return int(wrong)
'''

_CHMOD = '''
def _chmod(path: Path, mode: int) -> int:
    """Give a path this mode; return 1, or 0 where it has it already."""
    wrong = path.stat().st_mode & 0o7777 != mode
    if wrong:
        path.chmod(mode)
    return int(wrong)
'''

_MKDIR = '''
def _mkdir(path: Path) -> int:
    """Make a directory with the parents that it needs; return 1, or 0 where it is there already."""
    missing = not path.is_dir()
    if missing:
        path.mkdir(parents=True)
    return int(missing)
'''

_MKDIR_PLAIN = '''
def _mkdir(path: Path) -> int:
    """Make a directory in an existing one; return 1, or 0 where it is there already."""
    missing = not path.is_dir()
    if missing:
        path.mkdir()
    return int(missing)
'''

_TOUCH = '''
def _touch(path: Path) -> int:
    """Make an empty file; return 1, or 0 where something is there already."""
    missing = not path.exists()
    if missing:
        path.touch()
    return int(missing)
'''

_UNLINK = '''
def _unlink(path: Path) -> int:
    """Remove a file; return 1, or 0 where it is gone already."""
    there = os.path.lexists(path)
    if there:
        path.unlink()
    return int(there)
'''

_RMTREE = '''
def _rmtree(path: Path) -> int:
    """Remove a directory with all that is in it; return 1, or 0 where it is gone already."""
    there = os.path.lexists(path)
    if there:
        shutil.rmtree(path)
    return int(there)
'''

_RMDIR = '''
def _rmdir(path: Path) -> int:
    """Remove an empty directory; return 1, or 0 where it is gone already."""
    there = os.path.lexists(path)
    if there:
        path.rmdir()
    return int(there)
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
        there = "".join(lines[k + 1 :]).startswith(block) if after else out.endswith(block)
        out += block if taken and not after and not there else ""
        out += line if line.endswith("\\n") or not (taken and after) else line + "\\n"
        out += block if taken and after and not there else ""
    return out.encode(errors="surrogateescape")
'''

_SHELL = '''
def _shell(values: list[str]) -> bytes:
    """Return what the program prints, values handed over as positional parameters; raise where it fails."""
    done = subprocess.run(["bash", "-c", PROGRAM, "skill", *values], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode != 0:
        raise RuntimeError(f"exit status {done.returncode}: {said}")
    return done.stdout
'''

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

_BELOW = '''
def _below(root: Path) -> list[str]:
    """Return all paths below root, relative to it, parents first."""
    return sorted(str(Path(folder, name).relative_to(root)) for folder, dirs, files in os.walk(root) for name in dirs + files)
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

HELPERS: Mapping[str, Helper] = {
    "_walk": Helper(_WALK, ("Iterator", "Path")),
    "_walk:gone": Helper(_WALK_GONE, ("os", "Iterator", "Path")),
    "_glob": Helper(_GLOB, ("fnmatch", "Path")),
    "_run": Helper(_RUN, ("os", "subprocess")),
    "_run:in": Helper(_RUN_IN, ("os", "subprocess")),
    "_run_with": Helper(_RUN_WITH, ("os", "subprocess")),
    "_put": Helper(_PUT, _PUT_IMPORTS),
    "_set": Helper(_SET, ("hashlib", "os", "Path")),
    "_replaced": Helper(_REPLACED),
    "_substituted": Helper(_SUBSTITUTED, ("io", "re")),
    "_quoted": Helper(_QUOTED),
    "_inserted": Helper(_INSERTED, ("Callable",)),
    "_shell": Helper(_SHELL, ("os", "subprocess")),
    "_shell:in": Helper(_SHELL_IN, ("os", "subprocess", "Path")),
    "_below": Helper(_BELOW, ("os", "Path")),
    "_zipped": Helper(_ZIPPED, ("io", "zipfile", "Path")),
    "_append": Helper(_APPEND, ("Path",), ("_put",)),
    "_add": Helper(_ADD, ("Path",), ("_put",)),
    "_prepend": Helper(_PREPEND, ("Path",), ("_put",)),
    "_rename": Helper(_RENAME, ("os", "Path")),
    "_move": Helper(_MOVE, ("os", "Path")),
    "_copy": Helper(_COPY, ("Path",), ("_put",)),
    "_copy_tree": Helper(_COPY_TREE, ("Path",), ("_put",)),
    "_copy_tree:flat": Helper(_COPY_TREE_FLAT, ("Path",), ("_put",)),
    "_copy_tree:links": Helper(_COPY_TREE_LINKS, ("os", "Path"), ("_put", "_link")),
    "_link": Helper(_LINK, ("os", "Path")),
    "_relink": Helper(_RELINK, ("hashlib", "os", "Path")),
    "_chmod": Helper(_CHMOD, ("Path",)),
    "_mkdir": Helper(_MKDIR, ("Path",)),
    "_mkdir:plain": Helper(_MKDIR_PLAIN, ("Path",)),
    "_touch": Helper(_TOUCH, ("Path",)),
    "_unlink": Helper(_UNLINK, ("os", "Path")),
    "_rmtree": Helper(_RMTREE, ("os", "shutil", "Path")),
    "_rmdir": Helper(_RMDIR, ("os", "Path")),
}


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
