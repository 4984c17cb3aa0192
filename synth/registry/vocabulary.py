"""Words for file and text work: what programs do, and what else people say for it."""

from __future__ import annotations

PROGRAM_WORDS = {
    "mv": "rename move",
    "rename": "rename",
    "cp": "copy duplicate backup save",
    "rm": "delete remove erase drop",
    "rmdir": "delete remove empty directory",
    "unlink": "delete remove",
    "mkdir": "create make directory folder",
    "touch": "create make empty file",
    "ln": "link symlink shortcut",
    "chmod": "permission mode executable",
    "chown": "owner ownership",
    "cat": "show print concatenate join merge",
    "head": "first beginning top",
    "tail": "last end bottom",
    "wc": "count number size lines words",
    "sort": "sort order arrange",
    "uniq": "unique duplicate distinct dedupe",
    "cut": "column field extract",
    "paste": "join column merge combine",
    "join": "join merge combine",
    "grep": "search find match filter contain",
    "find": "search find locate list",
    "ls": "list show",
    "sed": "replace substitute edit",
    "tr": "translate replace convert character case",
    "awk": "column field sum extract compute",
    "jq": "json query field key",
    "tar": "archive pack bundle extract unpack compress",
    "zip": "zip archive pack compress",
    "unzip": "unzip extract unpack",
    "gzip": "compress zip gz",
    "gunzip": "decompress uncompress extract gz",
    "bzip2": "compress bz2",
    "xz": "compress xz",
    "diff": "difference compare change",
    "cmp": "compare difference",
    "comm": "compare common",
    "patch": "patch apply",
    "split": "split divide chunk",
    "csplit": "split divide",
    "du": "size disk usage",
    "stat": "size mode information",
    "sha256sum": "checksum hash digest",
    "md5sum": "checksum hash digest",
    "git": "git repository commit version",
    "sqlite3": "database sql table query",
    "make": "build compile target",
    "dos2unix": "line endings convert windows",
    "unix2dos": "line endings convert windows",
    "base64": "encode decode",
    "openssl": "encrypt hash certificate",
    "nl": "number lines",
    "rev": "reverse",
    "tac": "reverse lines",
    "shuf": "shuffle random",
    "fold": "wrap width",
    "fmt": "wrap format",
    "column": "align table format",
    "tee": "write save",
    "seq": "number sequence range",
    "basename": "name suffix",
    "file": "type kind",
    "date": "date time",
    "bc": "calculate compute sum",
}
"""What people say for what a program does. Source: the programs' one-line descriptions (whatis), shortened."""

_GROUPS = """
rename move change
delete remove erase drop discard purge clear clean
copy duplicate clone backup
create make add new generate scaffold skeleton ensure exist
folder directory dir subdirectory subfolder
extension suffix filetype ending
prefix prepend begin start front header
append add end
count number many amount total
merge join combine concatenate concat
compress pack archive zip tarball bundle backup
unpack extract decompress uncompress unzip
show print list display
sort order arrange
duplicate repeated repeat distinct unique dedupe
replace substitute swap convert
find search locate
executable runnable execute permission mode chmod
strip trim remove
split divide cut piece chunk part
difference differ diff compare versus
common intersection shared both
uppercase upper capital
lowercase lower
largest biggest longest max maximum
smallest shortest min minimum
average mean
sum total add
checksum hash digest sha256 md5
carriage crlf dos windows
link symlink shortcut
dereference resolve follow
misspelled spelling spell typo
size large big bytes
empty blank
"""


def _by_word() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _GROUPS.split("\n"):
        group = line.split()
        for word in group:
            found.setdefault(word, set()).update(w for w in group if w != word)
    return {word: frozenset(others) for word, others in found.items()}


_SYNONYMS = _by_word()


def synonyms(word: str) -> frozenset[str]:
    """Other words for the same work; for ``renaming`` and ``renamed`` as for ``rename``."""
    for form in _forms(word):
        if form in _SYNONYMS:
            return _SYNONYMS[form] - {word}
    return frozenset()


def _forms(word: str) -> list[str]:
    forms = [word]
    for suffix, ends in (("ies", ("y",)), ("es", ("", "e")), ("s", ("",)), ("ing", ("", "e")), ("ed", ("", "e"))):
        if word.endswith(suffix) and len(word) > len(suffix) + 2:
            stem = word[: -len(suffix)]
            forms += [stem + end for end in ends]
            if len(stem) > 3 and stem[-1] == stem[-2]:
                forms.append(stem[:-1])
    return forms
