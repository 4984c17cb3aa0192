"""Compression, archives and splitting: content is made in memory and put in place at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from synth.embedded.code import quote
from synth.embedded.filters import expand, receiver
from synth.embedded.scope import Items, Scope
from verifiers.shell.commands import TABLE, parse_args
from verifiers.shell.tree import Lit, ShellError, Word, literal_word

_FORMATS = {"bzip2": ("bz2", ".bz2"), "gzip": ("gzip", ".gz"), "xz": ("lzma", ".xz")}
_INVERSE = {"bunzip2": "bzip2", "gunzip": "gzip", "unxz": "xz"}


@dataclass(frozen=True, slots=True)
class _Form:
    """One way to pack or unpack a file."""

    module: str
    suffix: str
    unpack: bool

    def of(self, data: str) -> str:
        """The other form of a bytes expression."""
        dated = ", mtime=0" if self.module == "gzip" else ""
        return f"{self.module}.decompress({data})" if self.unpack else f"{self.module}.compress({data}{dated})"

    def target(self, path: str) -> str:
        """Where the other form of a file goes, as a Path expression."""
        if self.unpack:
            return f"Path(str({path}).removesuffix({quote(self.suffix)}))"
        return f'Path(f"{{{path}}}{self.suffix}")'


def pack(name: str) -> Callable[[Scope, Sequence[Word]], None]:
    def run(scope: Scope, words: Sequence[Word]) -> None:
        parsed = parse_args(TABLE[name], words)
        if parsed.names - {"-k", "-9", "-f", "-v", "-d", "-1", "-n", "--keep", "--best", "-q"} or parsed.has("-c"):
            raise ShellError(f"{name} with these options is not understood")
        form = _Form(*_FORMATS[_INVERSE.get(name, name)], unpack=name in _INVERSE or parsed.has("-d"))
        scope.code.need(form.module)
        keep = parsed.has("-k", "--keep")
        for operand in expand(scope, parsed.operands):
            if isinstance(operand, Items):
                var = scope.code.fresh("path")
                with scope.code.block(f"for {var} in {operand.code}:"):
                    _packed(scope, var, form, keep, parsed.has("-f"))
            elif not keep and not scope.code.depth > 1:
                path = scope.code.assign("path", scope.path(operand))
                _named_packed(scope, path, form)
            else:
                _packed(scope, scope.path(operand), form, keep, parsed.has("-f"))

    return run


def _packed(scope: Scope, path: str, form: _Form, keep: bool, force: bool) -> None:
    """Writes the other form beside a file, then removes the file: killed in between, a second run does both again."""
    if not path.isidentifier():
        path = scope.code.assign("path", path)
    data, target = form.of(f"{path}.read_bytes()"), form.target(path)
    if not force:
        data = scope.code.assign("content", data)
        scope.code.line(f"{scope.code.helper('_vacant')}({target}, {data})")
    scope.count(f"{scope.code.helper('_set')}({target}, {data}, {path}.stat().st_mode & 0o777)")
    if not keep:
        scope.code.line(f"{path}.unlink()")


def _named_packed(scope: Scope, path: str, form: _Form) -> None:
    """As ``_packed`` for a file given by name: it is gone when a second run looks for it."""
    target = scope.code.assign("target", form.target(path))
    with scope.code.block(f"if not {path}.exists() and not {target}.exists():"):
        scope.code.line(f'raise FileNotFoundError(f"{{{path}}} does not exist")')
    with scope.code.block(f"if {path}.exists():"):
        data = form.of(f"{path}.read_bytes()")
        scope.count(f"{scope.code.helper('_set')}({target}, {data}, {path}.stat().st_mode & 0o777)")
        scope.code.line(f"{path}.unlink()")


def tar(scope: Scope, words: Sequence[Word]) -> None:
    """tar c: the same content gives the same bytes (sorted names, no times, no owners)."""
    first = (words[0].literal or "") if words else ""
    rest = [*words]
    if first and not first.startswith("-"):
        rest = [literal_word("-" + first), *words[1:]]
    parsed = parse_args(TABLE["tar"], rest)
    letters = {n for n, _ in parsed.options}
    out = parsed.value("-f", "--file")
    if "-x" in letters or "--extract" in letters or out is None or not letters & {"-c", "--create"}:
        raise ShellError("tar other than to create an archive is not understood")
    if letters - {"-c", "--create", "-z", "-j", "-J", "-v", "-f", "--file", "-C", "--directory", "--gzip"}:
        raise ShellError("tar with these options is not understood")
    folder = parsed.value("-C", "--directory")
    argv = ["tar", "--create", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--file=-"]
    codes = [quote(a) for a in argv]
    if folder is not None:
        codes.append(f'f"--directory={{{scope.path(folder)}}}"')
    codes.append(quote("--"))
    for operand in expand(scope, parsed.operands):
        if isinstance(operand, Items):
            codes.append(f"*map(str, {operand.code})")
        else:
            codes.append(scope.text(operand) if folder is not None or scope.cwd is None else f"str({scope.path(operand)})")
    code = f"{scope.code.helper('_run')}([{', '.join(codes)}])"
    code = _compressed(scope, code, letters, out)
    scope.count(f"{scope.code.helper('_put')}({scope.path(out)}, {code})")


def _compressed(scope: Scope, code: str, letters: set[str], out: Word) -> str:
    kind = "gzip" if letters & {"-z", "--gzip"} else "bzip2" if "-j" in letters else "xz" if "-J" in letters else ""
    if not kind:
        return code
    form = _Form(*_FORMATS[kind], unpack=False)
    scope.code.need(form.module)
    return form.of(code)


def zip_(scope: Scope, words: Sequence[Word]) -> None:
    """zip -r ARCHIVE PATH…: the same content gives the same bytes (one date, no owners)."""
    parsed = parse_args(TABLE["zip"], words)
    if parsed.names - {"-r", "-q", "-9"} or len(parsed.operands) < 2 or scope.facts.exists(parsed.operands[0], scope.cwd):
        raise ShellError("zip other than of paths into a new archive is not understood")
    out, *rest = parsed.operands
    listed = []
    for operand in expand(scope, rest):
        path = operand.code if isinstance(operand, Items) else f"[{scope.path(operand)}]"
        listed.append(f"for p in {path}")
    scope.code.helper("_walk")
    roots = " + ".join(f"[q {head} for q in _walk(p)]" if parsed.has("-r") else f"[p {head}]" for head in listed)
    last = out.parts[-1] if out.parts else None
    suffix = "" if isinstance(last, Lit) and "." in last.text else ".zip" if out.literal is not None else ""
    target = scope.path(Word((*out.parts, *([Lit(suffix)] if suffix else []))))
    scope.count(f"{scope.code.helper('_put')}({target}, {scope.code.helper('_zipped')}({roots}))")


def split(scope: Scope, words: Sequence[Word]) -> None:
    """split -l N [-d] FILE PREFIX."""
    parsed = parse_args(TABLE["split"], words)
    if parsed.names - {"-l", "-d", "-a"} or not 1 <= len(parsed.operands) <= 2:
        raise ShellError("split with these options is not understood")
    lines = parsed.value("-l")
    count = scope.text(lines) if lines is not None else "1000"
    if lines is not None and lines.literal is not None:
        count = lines.literal
    elif lines is not None:
        param = scope.holes(lines)
        count = param[0].name if param and param[0].kind == "int" else f"int({count})"
    width = parsed.value("-a")
    size = int(width.literal) if width is not None and width.literal and width.literal.isdecimal() else 2
    source = scope.path(parsed.operands[0])
    prefix = scope.path(parsed.operands[1]) if len(parsed.operands) > 1 else 'Path("x")'
    if not parsed.has("-d") and size != 2:
        raise ShellError("split with other than two letters is not understood")
    scope.code.need("io")
    rows = scope.code.assign("rows", f"list(io.BytesIO({receiver(source)}.read_bytes()))")
    number = scope.code.fresh("number")
    start = scope.code.fresh("start")
    with scope.code.block(f"for {number}, {start} in enumerate(range(0, len({rows}), {count})):"):
        letters = f"chr(97 + {number} // 26) + chr(97 + {number} % 26)"
        suffix = f'f"{{{number}:0{size}d}}"' if parsed.has("-d") else letters
        target = f"Path(str({prefix}) + {suffix})"
        scope.count(f'{scope.code.helper("_put")}({target}, b"".join({rows}[{start} : {start} + {count}]))')


ARCHIVES: dict[str, Callable[[Scope, Sequence[Word]], None]] = {
    **{name: pack(name) for name in (*_FORMATS, *_INVERSE)},
    "tar": tar,
    "zip": zip_,
    "split": split,
}
