"""What a skill made from states does to texts. These functions run in synthesis and, word for word, in the skill."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path


def _read(names: list[str]) -> dict[str, str]:
    """Return the texts of these files by their names."""
    return {name: Path(name).read_bytes().decode(errors="surrogateescape") for name in names}


def _listed(folder: str, pattern: str) -> list[str]:
    """Return the paths of the files in a folder that a pattern matches as a whole, by name."""
    found = (os.path.normpath(path) for path in Path(folder).iterdir() if path.is_file())
    return sorted(path for path in found if re.fullmatch(pattern, path))


def _there(name: str) -> list[str]:
    """Return the path where something is there, else nothing."""
    return [name] * os.path.lexists(name)


def _names(files: dict[str, str], pattern: str) -> list[str]:
    """Return the paths that a pattern matches as a whole, by name."""
    return [name for name in sorted(files) if re.fullmatch(pattern, name)]


def _rewrite(files: dict[str, str], names: list[str], pattern: str, new: Callable[[re.Match[str]], str]) -> None:
    """Replace what a pattern matches in these files; raise where it matches nothing."""
    hits = 0
    for name in names:
        files[name], found = re.subn(pattern, new, files[name], flags=re.MULTILINE)
        hits += found
    if hits == 0:
        raise ValueError(f"nothing to change in {names}: no text like {pattern}")


def _rewrite_once(files: dict[str, str], names: list[str], pattern: str, new: Callable[[re.Match[str]], str], done: str) -> None:
    """Replace what a pattern matches in these files; raise where it matches nothing and nothing says that it is done."""
    hits = 0
    for name in names:
        hits += len(re.findall(done, files[name], re.MULTILINE))
        files[name], found = re.subn(pattern, new, files[name], flags=re.MULTILINE)
        hits += found
    if hits == 0:
        raise ValueError(f"nothing to change in {names}: no text like {pattern}")


def _always(text: str) -> Callable[[re.Match[str]], str]:
    """Return what gives this text for every match."""
    return lambda m: text


def _rewrite_each(
    files: dict[str, str], names: list[str], pattern: str, new: Callable[[re.Match[str], int], str], amount: int
) -> None:
    """Replace every match of a pattern in these files, one after the other; raise where there are not so many."""
    places = sum(len(re.findall(pattern, files[name], re.MULTILINE)) for name in names)
    if places != amount:
        raise ValueError(f"{amount} values for {places} places in {names}")
    numbers = iter(range(amount))
    for name in names:
        files[name] = re.sub(pattern, lambda m: new(m, next(numbers)), files[name], flags=re.MULTILINE)


def _insert(files: dict[str, str], name: str, pattern: str, block: str) -> None:
    """Put a block at the end of the first match of a pattern, unless it is there; raise where nothing matches."""
    text = files[name]
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise ValueError(f"no place in {name}: no text like {pattern}")
    if not text.startswith(block, found.end()) and not text[: found.end()].endswith(block):
        files[name] = text[: found.end()] + block + text[found.end() :]


def _insert_sorted(files: dict[str, str], name: str, pattern: str, line: str, key: Callable[[str], str]) -> None:
    """Put a line where it sorts among the lines like it, unless it is there; raise where there are none, or at their end."""
    places = [(key(found[1]), found.start()) for found in re.finditer(pattern, files[name], re.MULTILINE)]
    own = re.match(pattern, line)
    if own is None or not places:
        raise ValueError(f"no lines in {name} that {line!r} belongs to")
    if any(own[1] == found[1] for found in re.finditer(pattern, files[name], re.MULTILINE)):
        return
    after = [start for known, start in places if known > key(own[1])]
    if not after:
        raise ValueError(f"{line!r} sorts behind the last of its lines in {name}")
    files[name] = files[name][: after[0]] + line + files[name][after[0] :]


def _version(text: str) -> tuple[tuple[int, str], ...]:
    """Return what versions sort by: numbers as numbers."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in re.findall(r"\d+|[^\W\d]+", text))


def _named(files: dict[str, str], pattern: str, value: str) -> str:
    """Return the path that a pattern matches with this value in its group; raise where there is none."""
    for name in sorted(files):
        found = re.fullmatch(pattern, name)
        if found is not None and found[1] == value:
            return name
    raise ValueError(f"no file like {pattern} with {value}")


def _sibling(files: dict[str, str], pattern: str, value: str) -> str:
    """Return what stands for the value in the name of the newest file before it; raise where there is none."""
    known = [found[1] for name in files if (found := re.fullmatch(pattern, name)) and _version(found[1]) < _version(value)]
    if not known:
        raise ValueError(f"no file like {pattern} before {value}")
    return max(known, key=_version)


def _renamed(text: str, old: str, new: str) -> str:
    """Return the text with one value replaced where it stands as a whole."""
    return re.sub(rf"(?<![0-9.]){re.escape(old)}(?![0-9]|\.[0-9])", lambda m: new, text)


def _straight(path: str) -> str:
    """Return the path; raise where a value leads it out of its folder."""
    if os.path.normpath(path) != path or path.startswith(("/", "../")):
        raise ValueError(f"{path} leads out of its folder")
    return path


def _create(files: dict[str, str], name: str, text: str) -> None:
    """Make a file with this text; raise where it is there with another one."""
    _straight(name)
    if files.get(name, text) != text:
        raise ValueError(f"{name} exists already")
    files[name] = text


def _bumped(version: str, place: int) -> str:
    """Return the version with its number at this place one higher and those behind it zero; raise where there is none."""
    numbers = version.split(".")
    if len(numbers) <= place or not all(n.isdecimal() for n in numbers):
        raise ValueError(f"{version} is no version of at least {place + 1} plain numbers")
    return ".".join([*numbers[:place], str(int(numbers[place]) + 1), *("0" for _ in numbers[place + 1 :])])


def _plain(version: str) -> str:
    """Return the version without what follows its plain numbers; raise where it has none."""
    found = re.match(r"v?\d+(?:\.\d+)*", version)
    if found is None:
        raise ValueError(f"{version} is no version")
    return found[0]


def _slug(text: str) -> str:
    """Return lower-case words with dashes between them."""
    return "-".join(re.findall(r"[^\W_]+", text.lower()))
