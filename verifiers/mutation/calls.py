"""Operators on calls: another function of the same kind, a dropped keyword, a dropped step of a chain."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from verifiers.mutation.site import Edit, Site

_METHODS: dict[str, tuple[str, ...]] = {
    "glob": ("rglob",), "rglob": ("glob",), "startswith": ("endswith",), "endswith": ("startswith",), "lower": ("upper",),
    "upper": ("lower",), "strip": ("lstrip", "rstrip"), "lstrip": ("strip",), "rstrip": ("strip",), "split": ("rsplit",),
    "rsplit": ("split",), "partition": ("rpartition",), "rpartition": ("partition",), "removeprefix": ("removesuffix",),
    "removesuffix": ("removeprefix",), "is_file": ("exists", "is_dir"), "is_dir": ("exists", "is_file"), "exists": ("is_dir",),
    "is_symlink": ("exists",), "stat": ("lstat",), "lstat": ("stat",), "find": ("rfind",), "index": ("rindex",),
    "rename": ("replace",),
    "match": ("search",), "search": ("match",), "fullmatch": ("match",), "findall": (), "append": (), "ljust": ("rjust",),
    "rjust": ("ljust",), "unlink": (), "isdigit": ("isalpha",), "symlink_to": ("hardlink_to",), "sub": (),
}  # fmt: skip
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "min": ("max",), "max": ("min",), "any": ("all",), "all": ("any",), "sum": ("len",), "copy": ("move", "copyfile"),
    "copy2": ("copyfile", "move"),
    "move": ("copy",), "copyfile": ("copy",), "copytree": ("move",), "abspath": ("basename",), "basename": ("dirname",),
    "dirname": ("basename",), "isfile": ("exists",), "isdir": ("exists",), "rename": ("replace",),
    "fnmatchcase": ("fnmatch",), "fnmatch": ("fnmatchcase",),
    "realpath": ("abspath",), "mkdir": (), "makedirs": ("mkdir",),
}  # fmt: skip
_TRANSPARENT = frozenset(
    {"strip", "lstrip", "rstrip", "lower", "upper", "casefold", "expandtabs", "resolve", "absolute", "title", "swapcase"}
)
_ATTRIBUTES = {"name": "stem", "stem": "name", "suffix": "name", "parent": "name", "st_size": "st_mode"}


def swaps(site: Site) -> Iterator[Edit]:
    """Another function of the same kind."""
    for node in site.nodes:
        if isinstance(node, cst.Call):
            func = node.func
            if isinstance(func, cst.Attribute):
                owner = site.module.dotted(func.value)
                table = _FUNCTIONS if owner in ("shutil", "os", "os.path", "fnmatch") else _METHODS
                for other in table.get(func.attr.value, ()):
                    yield site.edit(
                        "function-swapped", func.attr, other, f"`{func.attr.value}` became `{other}` in `{site.short(node)}`"
                    )
            elif isinstance(func, cst.Name):
                for other in _FUNCTIONS.get(func.value, ()):
                    if func.value in ("min", "max", "any", "all", "sum"):
                        yield site.edit(
                            "function-swapped", func, other, f"`{func.value}` became `{other}` in `{site.short(node)}`"
                        )
        elif isinstance(node, cst.Attribute) and node.attr.value in _ATTRIBUTES and not _is_called(site, node):
            other = _ATTRIBUTES[node.attr.value]
            yield site.edit(
                "attribute-swapped", node.attr, other, f"`.{node.attr.value}` became `.{other}` in `{site.short(node)}`"
            )


def _is_called(site: Site, node: cst.Attribute) -> bool:
    above = site.module.parents.get(node)
    return isinstance(above, cst.Call) and above.func is node


def ordering(site: Site) -> Iterator[Edit]:
    """Sorting removed or turned round."""
    for node in site.nodes:
        if (
            isinstance(node, cst.Call)
            and isinstance(node.func, cst.Name)
            and node.func.value in ("sorted", "set", "frozenset")
            and node.args
        ):
            inner = site.text(node.args[0].value)
            if isinstance(node.args[0].value, cst.GeneratorExp):
                inner = f"({inner.removeprefix('(').removesuffix(')')})"
            yield site.edit("order-dropped", node, f"list({inner})", f"`{node.func.value}` dropped from `{site.short(node)}`")
            if node.func.value == "sorted":
                text = site.text(node)
                yield site.edit("order-reversed", node, f"list(reversed({text}))", f"`{site.short(node)}` reversed")


def steps(site: Site) -> Iterator[Edit]:
    """A step of a chain left out: ``x.strip()`` -> ``x``; only the first of several replacements; no quoting."""
    for node in site.nodes:
        if not isinstance(node, cst.Call):
            continue
        func, shown = node.func, site.short(node)
        if isinstance(func, cst.Attribute) and func.attr.value in _TRANSPARENT:
            yield site.edit("step-dropped", node, site.text(func.value), f"`.{func.attr.value}()` dropped from `{shown}`")
        if isinstance(func, cst.Attribute) and func.attr.value == "replace" and len(node.args) == 2:
            first, second = (site.text(a.value) for a in node.args)
            yield site.edit("step-dropped", node, site.text(func.value), f"replacement dropped from `{shown}`")
            yield site.edit(
                "first-only",
                node,
                f"{site.text(func.value)}.replace({first}, {second}, 1)",
                f"only the first replaced in `{shown}`",
            )
        if site.module.dotted(func) in ("shlex.quote", "re.escape", "glob.escape") and node.args:
            yield site.edit("quoting-dropped", node, f"({site.text(node.args[0].value)})", f"quoting dropped from `{shown}`")
        if site.module.dotted(func) == "re.sub" and len(node.args) == 3:
            one, two, three = (site.text(a.value) for a in node.args)
            yield site.edit(
                "first-only", node, f"{site.text(func)}({one}, {two}, {three}, count=1)", f"only the first replaced in `{shown}`"
            )
        if (
            isinstance(func, cst.Name)
            and func.value in ("int", "str", "abs", "set", "round", "dict")
            and len(node.args) == 1
            and node.args[0].keyword is None
        ):
            yield site.edit(
                "conversion-dropped", node, f"({site.text(node.args[0].value)})", f"`{func.value}()` dropped from `{shown}`"
            )


def keywords(site: Site) -> Iterator[Edit]:
    """Keyword arguments dropped; boolean ones (``exist_ok``, ``check``, ``parents``) turned round."""
    for node in site.nodes:
        if not isinstance(node, cst.Call):
            continue
        for i, arg in enumerate(node.args):
            if arg.keyword is None:
                continue
            name, value = arg.keyword.value, site.text(arg.value)
            if value in ("True", "False"):
                other = "False" if value == "True" else "True"
                yield site.edit("flag-flipped", arg.value, other, f"`{name}={value}` became {other} in `{site.short(node)}`")
            else:
                rest = ", ".join(site.text(a).rstrip(", \n") for j, a in enumerate(node.args) if j != i)
                yield site.edit(
                    "keyword-dropped", node, f"{site.text(node.func)}({rest})", f"`{name}` dropped from `{site.short(node)}`"
                )


def writing(site: Site) -> Iterator[Edit]:
    """Appending instead of writing, copying instead of moving, an argument word less."""
    for node in site.nodes:
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            attr, owner = node.func.attr.value, site.text(node.func.value)
            args = [site.text(a.value) for a in node.args if a.keyword is None]
            if attr in ("write_text", "write_bytes") and args:
                mode = "a" if attr == "write_text" else "ab"
                text = f'({owner}).open("{mode}").write({args[0]})'
                yield site.edit("append-instead", node, text, f"`{site.short(node)}` appends instead")
            if attr in ("rename", "replace") and len(args) == 1 and isinstance(site.module.parents.get(node), cst.Expr):
                text = f'__import__("shutil").copy({owner}, {args[0]})'
                yield site.edit("copy-instead", node, text, f"`{site.short(node)}` copies instead of moving")
        if (isinstance(node, cst.Call) and site.module.dotted(node.func) in ("open", "io.open")) or _opens(node):
            yield from _open_mode(site, node)


def _opens(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "open"


def _open_mode(site: Site, call: cst.CSTNode) -> Iterator[Edit]:
    for arg in call.args if isinstance(call, cst.Call) else ():
        text = site.text(arg.value)
        if text.strip("\"'") in ("w", "wb", "a", "ab", "x", "wt", "at"):
            other = text.replace("w", "a") if "w" in text else text.replace("a", "w").replace("x", "a")
            yield site.edit("append-instead", arg.value, other, f"opened with {other} instead of {text}")
