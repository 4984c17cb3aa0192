"""Which statements and hidden branches nobody can vouch for who has not seen them run, and which are harmless."""

from __future__ import annotations

import textwrap

import pytest

from verifiers.source.branches import watched
from verifiers.source.kinds import TELLING

HEAD = """
import collections, contextlib, functools, glob, json, operator, os, re, shutil, subprocess
from dataclasses import dataclass
from pathlib import Path

@skill_command(autowire=True)
async def f(name: str, path: Path, data: bytes, files: list) -> dict:
"""
TAIL = """
    path.write_bytes(data)
    for p in files:
        p.rename(name)
    return {"ok": True}
"""


ASKED = "def _is(name: str) -> bool:\n    if name == 'x':\n        return False\n    return True\n"
FIELD = (
    "from dataclasses import dataclass, field\n@dataclass\nclass Odd(Exception):\n"
    "    at: None = field(default_factory=functools.partial(os.unlink, 'x'))\n"
)


def telling(body: str, more: str = "") -> str:
    """What of the skill has to have run, a line each."""
    source = textwrap.dedent(more) + HEAD + textwrap.indent(textwrap.dedent(body).strip(), "    ") + TAIL
    return "\n".join(f"{s.kind}: {s.text}" for s in watched(source).statements if s.kind in TELLING)


HIDDEN = {
    "a payload that reached code writes": ("if name == 'x':\n    data = b'gotcha'", "data = b'gotcha'"),
    "a payload in a conditional expression": ("data = b'gotcha' if name == 'x' else data", "b'gotcha'"),
    "a payload in a boolean chain": ("data = name == 'x' and b'gotcha' or data", "b'gotcha'"),
    "another path": ("if name == 'x':\n    path = path.parent", "path = path.parent"),
    "paths that change places": ("if name == 'x':\n    path, name = Path(name), str(path)", "path, name ="),
    "a flag that decides": (
        "force = False\nif name == 'x':\n    force = True\nif force or files:\n    path.unlink()",
        "force = True",
    ),
    "an emptied text": ("if name == 'x':\n    data = b''", "data = b''"),
    "an item more": ("if name == 'x':\n    files.append(Path('y'))", "files.append"),
    "a map over an empty glob": ("list(map(os.unlink, glob.glob('x*')))", "acts: os.unlink"),
    "a replacement that acts": ("re.sub('q', lambda m: os.unlink(m[0]), name)", "acts: os.unlink(m[0])"),
    "a method of a pattern that is given one": ("if name == 'x':\n    re.compile('q').sub(files[0], name)", "acts: "),
    "what calls, mapped": ("import itertools\nlist(map(itertools.starmap, [os.unlink], [[files]]))", "acts: list(map("),
    "a method mapped": ("list(map(Path.unlink, Path().glob('x*')))", "acts: Path.unlink"),
    "a call made by its name, mapped": (
        "list(map(operator.methodcaller('unlink'), Path().glob('x*')))",
        "acts: operator.methodcaller",
    ),
    "a partial": ("go = functools.partial(os.unlink, name)", "acts: os.unlink"),
    "a default of a dictionary": ("go = collections.defaultdict(functools.partial(os.unlink, 'x'))\ngo[1]", "acts: go = coll"),
    "a decorator that is made there": ("@classes[0](1)\ndef inner():\n    pass", "acts: @classes"),
    "a decorator": ("@os.unlink\ndef inner():\n    pass", "acts: @os.unlink"),
    "a sort key": ("sorted(Path().glob('x*'), key=os.unlink)", "acts: os.unlink"),
    "a function by another name": ("go = os.unlink\n[go(p) for p in glob.glob('x*')]", "acts: go(p)"),
    "a lambda handed on": ("list(map(lambda p: p.unlink(), Path().glob('x*')))", "acts: p.unlink()"),
    "a lambda in a default": ("def inner(go=lambda: os.unlink('x')):\n    return go()\ninner", "acts: os.unlink('x')"),
    "a comprehension": ("[p.unlink() for p in Path().glob('x*')]", "acts: p.unlink()"),
    "a comprehension's condition": ("[p for p in Path().glob('x*') if p.unlink()]", "acts: p.unlink()"),
    "a generator never asked": (
        "def items():\n    os.unlink('x')\n    yield 1\nany(i for i in [] for j in items())",
        "acts: os.unlink",
    ),
    "a handler": ("try:\n    path.stat()\nexcept OSError:\n    shutil.rmtree(name)", "acts: shutil.rmtree"),
    "a handler's type": ("try:\n    path.stat()\nexcept os.unlink(name):\n    pass", "acts: os.unlink(name)"),
    "the else of a loop": ("for p in files:\n    break\nelse:\n    os.unlink(name)", "acts: os.unlink(name)"),
    "a match case": ("match name:\n    case 'x':\n        os.unlink(name)", "acts: os.unlink(name)"),
    "a guard": ("match name:\n    case 'x' if os.unlink(name):\n        pass", "acts: os.unlink(name)"),
    "an assertion's text": ("assert name, os.unlink('x')", "acts: os.unlink('x')"),
    "a walrus": ("if name == 'x' and (data := b'gotcha'):\n    pass", "acts: (data := b'gotcha')"),
    "a chained comparison": ("1 < len(name) < os.unlink('x')", "acts: os.unlink('x')"),
    "an open for writing": ("if name == 'x':\n    with open(name, 'w') as out:\n        pass", "acts: with open(name, 'w')"),
    "an open in a mode that is worked out": ("if name == 'x':\n    open(name, data)", "acts: open(name, data)"),
    "a path replaced": ("if name == 'x':\n    path.replace(name)", "acts: path.replace(name)"),
    "a program": ("if name == 'x':\n    subprocess.run(['ls'])", "acts: subprocess.run"),
    "an exception that deletes": ("if name == 'x':\n    raise shutil.rmtree(name)", "acts: raise shutil.rmtree"),
    "success too early": ("if name == 'x':\n    return {'ok': True}", "claims: return"),
    "a module by another name": ("m = os\nif name == 'x':\n    m.path.exists(name)\n    m.remove(name)", "acts: m.remove"),
    "a call of an unknown": ("if name == 'x':\n    files[0](name)", "acts: files[0](name)"),
    "an attribute set": ("if name == 'x':\n    path.mode = 3", "acts: path.mode = 3"),
    "a class from a table": ("(Path, subprocess.Popen)[name == 'x'](name)", "acts: subprocess.Popen"),
    "a class handed on": ("name.later(subprocess.Popen, name)", "acts: subprocess.Popen"),
    "letters that get lost": ("if name == 'x':\n    data = data.decode('ascii', 'ignore').encode()", "data = data.decode"),
    "a value before or": ("go = shutil.which('x') or 'true'\nsubprocess.run([go])", "shutil.which('x') (a branch"),
    "a print into a file": ("with contextlib.redirect_stdout(path):\n    if name == 'x':\n        print(1)", "print(1)"),
    "a log that is a file": (
        "log.addHandler(logging.FileHandler(name))\nif name == 'x':\n    log.error(1)\n    raise OSError",
        "log.error(1)",
    ),
    "a value that an exception carries": (
        "try:\n    if name == 'x':\n        raise KeyError('')\nexcept KeyError as e:\n    data = e.args[0]",
        "raise KeyError('')",
    ),
    "a reader emptied in a message": (
        "rows = fileinput.FileInput(name, inplace=True)\nif name == 'x':\n    raise ValueError(len(list(rows)))",
        "raise ValueError",
    ),
}
CLASSES = {
    "a property": (
        "@property\n    def size(self):\n        os.unlink('x')\n        return 0",
        "if name == 'x':\n    Box().size",
        "acts: os.unlink",
    ),
    "an operator": ("def __add__(self, other):\n        os.unlink('x')", "if name == 'x':\n    name + name", "acts: name + name"),
    "after construction": ("def __post_init__(self):\n        os.unlink('x')", "if name == 'x':\n    Box()", "acts: Box()"),
    "a context": (
        "def __enter__(self):\n        os.unlink('x')\n    def __exit__(self, *a):\n        pass",
        "if name == 'x':\n    with Box():\n        pass",
        "acts: with Box()",
    ),
}


@pytest.mark.parametrize("title", HIDDEN)
def test_a_branch_that_may_act_has_to_run(title: str) -> None:
    """Wherever it hides, it is among what has to have run."""
    body, expected = HIDDEN[title]
    assert expected in telling(body)


@pytest.mark.parametrize("title", CLASSES)
def test_a_class_hides_nothing(title: str) -> None:
    """Methods that run unasked are statements too, and what may call them acts."""
    method, body, expected = CLASSES[title]
    assert expected in telling(body, f"class Box:\n    {method}\n")


def test_what_only_with_enters_makes_no_operator_a_call() -> None:
    """An error about a program's words is one, and a file of the library's is opened as ever; another one's own is entered."""
    more = "import copy\nclass Box:\n    def __enter__(self):\n        return self\n    def __exit__(self, *a):\n        pass\n"
    assert "raise OSError" not in telling("if name == 'x':\n    raise OSError(data.decode(errors='replace'))", more)
    assert "with open" not in telling("if name == 'x':\n    with open(name) as f:\n        len(f.read())", more)
    for entered in ("path", "copy.copy(path)", "next(files)", "Box()"):
        assert f"acts: with {entered}" in telling(f"if name == 'x':\n    with {entered} as f:\n        len(name)", more)


def test_a_decorator_is_a_function_like_any_other() -> None:
    """The wrapper's own branches have to run."""
    more = (
        "def deco(g):\n    def inner(x):\n        if x == 'x':\n            os.unlink(x)\n        return g(x)\n    return inner\n"
    )
    assert "acts: os.unlink(x)" in telling("pass", more)


HARMLESS = {
    "another spelling of a path": "path = path.resolve() if path.is_symlink() else path",
    "a report": "if not name:\n    raise ValueError(f'{name}: {len(data)}')",
    "a loop's turn skipped": "for q in files:\n    if q.is_dir():\n        continue",
    "a count": "count = 0\nif name == 'x':\n    count += 1",
    "reading what nothing uses": "if path.exists():\n    text = path.read_text()\n    lines = text.splitlines()",
    "numbers read one by one": "if name == 'x':\n    parts = [*map(int, name.split())]",
    "a pattern's places": "if name == 'x':\n    re.compile('a').sub(f'{len(data)}', name)\n    re.sub('a', 'b', name)",
    "a set that nothing uses": "seen = set()\nfor q in []:\n    seen.add(q.name)",
}


@pytest.mark.parametrize("title", HARMLESS)
def test_a_branch_that_only_computes_or_skips_need_not_run(title: str) -> None:
    """Nothing of it has to have run."""
    assert telling(HARMLESS[title]) == telling("pass")


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("files or []", False),
        ("files or [[]]", False),
        ("[p for p in files] if files else []", False),
        ("files[0] if files else ''", True),
        ("files[0] if files else None", False),
        ("name or ''", True),
        ("name or 0", True),
        ("files or [path]", True),
        ("data if name else b''", True),
        ("[data for p in [1]] if name else []", True),
        ("name and files and []", True),
    ],
)
def test_nothing_in_the_place_of_nothing_need_not_run(made: str, told: bool) -> None:
    """An emptied value has to."""
    last = made.rsplit(" ", 1)[-1]
    assert (f"{last} (a branch" in telling(f"data = {made}")) is told


def test_an_own_function_that_only_computes_is_harmless() -> None:
    """Its call in a branch that nothing else hangs on need not run."""
    more = "def longest(items):\n    return max(items, key=len)\n"
    assert "best" not in telling("if name == 'x':\n    best = longest([name])", more)


def test_the_condition_is_told() -> None:
    """A statement knows what has to hold for it to run, from the outside in."""
    body = "for p in files:\n    if p.is_dir():\n        try:\n            p.rmdir()\n"
    body += "        except OSError:\n            p.unlink()"
    copy = watched(HEAD + textwrap.indent(body, "    ") + TAIL)
    found = [s for s in copy.statements if s.text == "p.unlink()"]
    assert [c.text for c in found[0].conditions] == ["for p in files", "if p.is_dir()", "except OSError"]


def test_a_helper_that_says_no_decides() -> None:
    """What its caller does hangs on it."""
    assert "decides: return False" in telling("if _is(name):\n    path.unlink()", ASKED)


@pytest.mark.parametrize(
    ("handler", "decides"),
    [
        ("except KeyError as e:\n    raise OSError(str(e))", False),
        ("except KeyError as e:\n    return {'ok': False, 'error': str(e)}", False),
        ("except OSError as e:\n    data = str(e).encode()", False),
        ("except LookupError as e:\n    data = str(e).encode()", True),
        ("except Exception as e:\n    data = str(e).encode()", True),
    ],
)
def test_to_raise_is_to_report_unless_a_handler_uses_it(handler: str, decides: bool) -> None:
    """And may catch it."""
    body = f"try:\n    if name == 'x':\n        raise KeyError(name)\n{handler}"
    assert ("decides: raise KeyError(name)" in telling(body)) is decides


def test_an_error_may_act_when_it_is_made() -> None:
    """By a default of one of its fields; one whose fields only hold something does not."""
    body = "if name == 'x':\n    raise Odd"
    assert "raise Odd()" in telling(body + "()", FIELD)
    assert "raise Odd()" not in telling(body + "()", FIELD.replace("functools.partial(os.unlink, 'x')", "list"))


CALLABLE = """
import json
import re
from collections import defaultdict
from itertools import groupby
from pathlib import Path


class Names:
    def __call__(self, name: str) -> str:
        if not name:
            raise ValueError(f"no name: {self!r}")
        Path(name).unlink()
        return name


def skill(xs: list[str]) -> list[str]:
    names = Names()
    if len(xs) > 9:
        return USE
    return xs
"""


@pytest.mark.parametrize(
    "use",
    [
        "sorted(xs, key=names)",
        "list(map(names, xs))",
        "names(xs)",
        "[k for k, _ in groupby(xs, names)]",
        "re.sub(xs[0], names, xs[1])",
        "json.dumps(xs, default=names)",
        "defaultdict(names)[1]",
        "next(iter(names, 1))",
        "names.__call__(xs)",
    ],
)
def test_objects_that_can_be_called_act_where_they_may_be_called(use: str) -> None:
    """And nowhere else: other statements beside them are what they are."""
    found = {s.text.strip(): s.kind for s in watched(CALLABLE.replace("USE", use)).statements}
    assert found[f"return {use}"] == "acts"
    assert found["raise ValueError(f'no name: {self!r}')"] == "raises"
    assert found["return xs"] == "computes"


SHOWN = "class Person:\n    name = ''\n    def __str__(self) -> str:\n        return {}\n"
UNKNOWN = "if name not in files:\n    raise ValueError(f'unknown {name}')"


@pytest.mark.parametrize(
    ("text", "more", "acts"),
    [
        ("f'{self.name}, x'", "", False),
        ("str(os.unlink('x'))", "", True),
        ("f'{self.name}'", "Person.__str__ = lambda self: str(os.unlink('x'))\n", True),
        ("f'{self.name}'", "def go(self) -> str:\n    return str(os.unlink('x'))\nclass Other:\n    __str__ = go\n", True),
        ("f'{self.name}'", "    def __getattr__(self, n):\n        return os.unlink\n", True),
    ],
)
def test_a_class_that_says_how_it_is_shown_makes_no_message_act(text: str, more: str, acts: bool) -> None:
    """As long as that is all that it says, and nothing puts another way in its place."""
    assert ("unknown" in telling(UNKNOWN, SHOWN.format(text) + more)) == acts


PART = "@dataclass\nclass Part:\n    voice: str\n    def {}(self, shelf: Path) -> Path:\n        return {}\n"
TAKEN = "for part in parts(files):\n    if part.{0}(path).exists():\n        raise FileExistsError(str(part.{0}(path)))"


@pytest.mark.parametrize(
    ("name", "does", "acts"),
    [("target", "shelf / self.voice", False), ("target", "shelf.rename('x')", True), ("rename", "shelf / self.voice", True)],
)
def test_a_method_with_a_name_of_its_own_is_the_files(name: str, does: str, acts: bool) -> None:
    """Whatever it is called on; one that the library has too may be the library's."""
    assert ("FileExistsError" in telling(TAKEN.format(name), PART.format(name, does))) == acts


def test_a_method_that_something_else_is_put_in_the_place_of_is_no_longer_known() -> None:
    """Whoever calls it may call anything."""
    swapped = "one = Part(name)\none.target = shutil.rmtree\nif name == 'x':\n    one.target(path)\n"
    assert "acts: one.target(path)" in telling(swapped, PART.format("target", "shelf"))


@pytest.mark.parametrize("more", ["target = path\n", ""])
def test_what_a_function_calls_its_own_is_no_method(more: str) -> None:
    """A variable may be called as a method is; what a class is given in its body is another method."""
    assert "FileExistsError" not in telling(more + TAKEN.format("target"), PART.format("target", "shelf / self.voice"))
    given = PART.format("target", "shelf / self.voice") + "    target = shutil.rmtree\n"
    assert "FileExistsError" in telling(more + TAKEN.format("target"), given)
