"""Private functions about paths that a skill may carry, as text: walking, moving, copying, linking, removing."""

WALK = '''
def _walk(root: Path) -> Iterator[Path]:
    """Yield root and all that lies below it, by name, parents first, links not followed."""
    root.lstat()
    yield root
    if root.is_dir() and not root.is_symlink():
        for child in sorted(root.iterdir()):
            yield from _walk(child)
'''

WALK_GONE = '''
def _walk(root: Path) -> Iterator[Path]:
    """Yield root, if it is there, and all that lies below it, by name, parents first, links not followed."""
    if os.path.lexists(root):
        yield root
    if root.is_dir() and not root.is_symlink():
        for child in sorted(root.iterdir()):
            yield from _walk(child)
'''

GLOB = '''
def _glob(folder: Path, pattern: str) -> list[Path]:
    """Return what the shell pattern matches in a folder, hidden names left out, by name."""
    found = (p for p in folder.iterdir() if fnmatch.fnmatchcase(p.name, pattern))
    return sorted(p for p in found if not p.name.startswith("."))
'''

RENAME = '''
def _rename(source: Path, target: Path) -> int:
    """Rename without overwriting; return 1. Raise where the new name is taken."""
    if os.path.lexists(target):
        raise FileExistsError(f"{target} exists already")
    source.rename(target)
    return 1
'''

MOVE = '''
def _move(source: Path, target: Path) -> int:
    """Move one path; return 1, or 0 where it is at its target already."""
    there = os.path.lexists(source)
    if not there and not os.path.lexists(target):
        raise FileNotFoundError(f"{source} does not exist")
    if there:
        source.replace(target)
    return int(there)
'''

COPY = '''
def _copy(source: Path, target: Path) -> int:
    """Copy one file; return 1, or 0 where the target has its content already."""
    return _put(target, source.read_bytes(), source.stat().st_mode & 0o777)
'''

COPY_TREE = '''
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

COPY_TREE_FLAT = '''
def _copy_tree(source: Path, target: Path) -> int:
    """Copy a folder of files to target; return the number of files written."""
    if not source.is_dir():
        raise NotADirectoryError(f"{source} is not a directory")
    target.mkdir(mode=source.stat().st_mode & 0o777, exist_ok=True)
    return sum(_put(target / p.name, p.read_bytes(), p.stat().st_mode & 0o777) for p in sorted(source.iterdir()))
'''

COPY_TREE_LINKS = '''
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

LINK = '''
def _link(target: str, link: Path) -> int:
    """Make a symbolic link; return 1, or 0 where it is there already. Raise where the name is taken."""
    missing = not link.is_symlink() or os.readlink(link) != target
    if missing:
        link.symlink_to(target)
    return int(missing)
'''

RELINK = '''
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

CHMOD = '''
def _chmod(path: Path, mode: int) -> int:
    """Give a path this mode; return 1, or 0 where it has it already."""
    wrong = path.stat().st_mode & 0o7777 != mode
    if wrong:
        path.chmod(mode)
    return int(wrong)
'''

MKDIR = '''
def _mkdir(path: Path) -> int:
    """Make a directory with the parents that it needs; return 1, or 0 where it is there already."""
    missing = not path.is_dir()
    if missing:
        path.mkdir(parents=True)
    return int(missing)
'''

MKDIR_PLAIN = '''
def _mkdir(path: Path) -> int:
    """Make a directory in an existing one; return 1, or 0 where it is there already."""
    missing = not path.is_dir()
    if missing:
        path.mkdir()
    return int(missing)
'''

TOUCH = '''
def _touch(path: Path) -> int:
    """Make an empty file; return 1, or 0 where something is there already."""
    missing = not path.exists()
    if missing:
        path.touch()
    return int(missing)
'''

UNLINK = '''
def _unlink(path: Path) -> int:
    """Remove a file; return 1, or 0 where it is gone already."""
    there = os.path.lexists(path)
    if there:
        path.unlink()
    return int(there)
'''

RMTREE = '''
def _rmtree(path: Path) -> int:
    """Remove a directory with all that is in it; return 1, or 0 where it is gone already."""
    there = os.path.lexists(path)
    if there:
        shutil.rmtree(path)
    return int(there)
'''

RMDIR = '''
def _rmdir(path: Path) -> int:
    """Remove an empty directory; return 1, or 0 where it is gone already."""
    there = os.path.lexists(path)
    if there:
        path.rmdir()
    return int(there)
'''

BELOW = '''
def _below(root: Path) -> list[str]:
    """Return all paths below root, relative to it, parents first."""
    return sorted(str(Path(folder, name).relative_to(root)) for folder, dirs, files in os.walk(root) for name in dirs + files)
'''

SAME = '''
def _timeless(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return what an archive says of a path without its time."""
    info.mtime = 0
    return info


def _entry(path: Path) -> bytes:
    """Return what a path is and holds, a link as a link, in a form that can be compared."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w") as archive:
        archive.add(path, "entry", recursive=False, filter=_timeless)
    return memory.getvalue()


def _same(path: Path, other: Path) -> bool:
    """Say whether two paths hold the same."""
    return os.path.lexists(other) and _entry(path) == _entry(other)
'''

GIVE = '''
def _give(source: Path, path: Path) -> int:
    """Let a path hold what source holds, a file with its mode or a link, in one step; return 1."""
    part = path.with_name(f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}.skill-part")
    part.unlink(missing_ok=True)
    shutil.copy(source, part, follow_symlinks=False)
    part.replace(path)
    return 1
'''

IS_FOLDER = '''
def _is_folder(path: Path) -> bool:
    """Say whether a path is a directory itself, no link to one."""
    return stat.S_ISDIR(path.lstat().st_mode)
'''

MKDIR_LIKE = '''
def _mkdir(path: Path, mode: int) -> int:
    """Make a directory with this mode; return 1, or 0 where it is there already."""
    missing = not path.is_dir()
    if missing:
        path.mkdir(mode)
        path.chmod(mode)
    return int(missing)
'''

MOVE_NEW = '''
def _move(source: Path, target: Path) -> int:
    """Move one path to a name that is free; return 1, or 0 where it is at its target already."""
    there, taken = os.path.lexists(source), os.path.lexists(target)
    if there == taken:
        raise FileExistsError(f"{target} exists already") if there else FileNotFoundError(f"{source} does not exist")
    if there:
        source.rename(target)
    return int(there)
'''

PLACED = '''
def _placed(root: Path, old: Path, new: Path) -> None:
    """Let texts below root that name the one place name the other."""
    name = re.compile(rb"(?<![\\w./~-])" + re.escape(os.fsencode(old.resolve())) + rb"(?![\\w.-])")
    for folder, _, files in os.walk(root):
        for path in [p for p in (Path(folder, file) for file in files) if p.is_file() and not p.is_symlink()]:
            text = path.read_bytes()
            if b"\\0" not in text and name.search(text):
                path.write_bytes(name.sub(lambda _: os.fsencode(new.resolve()), text))
'''
