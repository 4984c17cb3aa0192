"""Nothing that a skill does may hang on chance, on the clock, or on numbers that differ from process to process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst
from libcst import matchers

from verifiers.conventions.model import SkillModule
from verifiers.conventions.rule import TOUCH, Rule, Violation, skill
from verifiers.interface import Profile

DRAWN = frozenset({
    "os.urandom", "os.getpid", "os.getppid", "uuid.uuid1", "uuid.uuid4", "threading.get_ident", "threading.get_native_id", "id",
    "time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.perf_counter", "time.perf_counter_ns",
    "time.process_time", "time.process_time_ns", "time.localtime", "time.gmtime",
    "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today",
    "shutil.disk_usage", "os.statvfs", "os.fstatvfs", "os.getloadavg", "os.uname", "os.getlogin", "os.sysconf",
    "platform.node", "platform.release", "platform.version", "platform.uname", "platform.platform", "resource.getrlimit",
    "resource.getrusage", "os.path.ismount", "threading.active_count", "threading.enumerate", "asyncio.all_tasks",
    "gc.get_count", "gc.get_objects", "sys.getrefcount", "shutil.get_terminal_size", "os.get_terminal_size",
})  # fmt: skip
"""Calls that give another value in another run, on another machine or under another host, besides those of ``random`` and
``secrets``."""
PLACED = frozenset({"st_dev", "st_ino", "st_blocks", "st_blksize", "st_rdev"})
"""Of a file's status: where it happens to lie."""
IDENTITY = frozenset({"st_dev", "st_ino"})
FIXED = frozenset({"random.Random", "random.seed"})
"""Of ``random``: what gives the same numbers for the same seed."""
ARRANGING = frozenset({"random.shuffle", "random.sample", "random.choice", "secrets.choice"})
"""Deciding in themselves, unless they make a text."""
COMPUTING = frozenset(
    {"int", "float", "abs", "round", "min", "max", "sum", "len", "bool", "divmod", "pow", "int.from_bytes", "range"}
)
DECIDING = (cst.Comparison, cst.BooleanOperation, cst.Not, cst.Index, cst.Slice, cst.MatchCase, cst.CompIf)
SHELL = re.compile(r"\$\{?S?RANDOM\b|\bsrand\(|\$(?:\$|\{?(?:PPID|BASHPID)\b\}?)\s*%")
WAITING = frozenset({"concurrent.futures.wait", "asyncio.wait"})
"""What stops waiting after a time and goes on without a word."""
LOOKED_AT = frozenset({"is_alive", "exitcode", "poll"})
"""What says whether something was done in time."""
TEXTS = (cst.SimpleString, cst.FormattedString, cst.ConcatenatedString)
SCALING = (cst.Multiply, cst.Modulo, cst.FloorDivide, cst.BitAnd, cst.Power, cst.LeftShift, cst.RightShift)


class Chance(Rule):
    id = "conventions-chance"
    title = "Does nothing hang on chance, the clock or the process id?"
    why = (
        "A condition, an index or a factor that comes from `random`, the clock, a process id, an address, or from where a file "
        "happens to lie (`st_dev`, `st_ino`, a mount) goes another way once in a while: no number of runs shows that it always "
        "goes right, and a rare bad turn is how a skill passes today and does harm later. Such values may name a temporary file "
        "(in an f-string, say), and two files may be compared by them; they may not decide anything. What stops waiting after a "
        "time and goes on (`wait(timeout=)`, `join(timeout)`, `cancel_futures`) forgets the rest on a slow machine."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")
    soft_in: ClassVar[tuple[Profile, ...]] = ("omni",)
    good = (
        skill("plain code", TOUCH),
        skill(
            "one file under two names",
            'a, b = Path(file).stat(), Path(f"{file}.old").stat()\nif (a.st_dev, a.st_ino) != (b.st_dev, b.st_ino):\n'
            '    Path(file).touch()\nreturn {"ok": True}',
        ),
        skill(
            "a folder that is passed over",
            "s = Path(file).stat()\nclosed = s.st_dev, s.st_ino\nfor path in sorted(Path().iterdir()):\n    info = path.stat()\n"
            '    if (info.st_dev, info.st_ino) != closed:\n        path.touch()\nreturn {"ok": True}',
        ),
        skill(
            "each file once",
            "seen = set()\nfor path in sorted(Path(file).iterdir()):\n    info = path.stat()\n"
            "    key = (info.st_dev, info.st_ino)\n    if key not in seen:\n        path.touch()\n    seen.add(key)\n"
            'return {"ok": True}',
        ),
        skill(
            "what is not done in time is an error",
            "with ThreadPoolExecutor() as pool:\n    done, rest = wait([pool.submit(Path(file).touch)], timeout=60)\n"
            '    if rest:\n        raise TimeoutError(file)\nreturn {"ok": bool(done)}',
            imports="from concurrent.futures import ThreadPoolExecutor, wait\nfrom pathlib import Path\n\n",
        ),
        skill(
            "a thread that is looked at",
            "work = threading.Thread(target=Path(file).touch)\nwork.start()\nwork.join(60)\nif work.is_alive():\n"
            '    raise TimeoutError(file)\nreturn {"ok": True}',
            imports="import threading\nfrom pathlib import Path\n\n",
        ),
        skill(
            "dropped on the way out",
            "pool = ThreadPoolExecutor()\ntry:\n    pool.submit(Path(file).touch).result()\nexcept OSError:\n"
            '    pool.shutdown(cancel_futures=True)\n    raise\npool.shutdown()\nreturn {"ok": True}',
            imports="from concurrent.futures import ThreadPoolExecutor\nfrom pathlib import Path\n\n",
        ),
        skill(
            "a temporary name",
            'part = Path(f"{file}.{os.getpid()}.{uuid.uuid4().hex}")\npart.touch()\npart.rename(file)\nreturn {"ok": True}',
            imports="import os\nimport uuid\nfrom pathlib import Path\n\n",
        ),
    )
    bad = (
        skill(
            "by the size of the disk",
            'for p in list(Path().iterdir())[shutil.disk_usage(".").total >> 38 :]:\n    p.touch()\nreturn {"ok": bool(file)}',
            imports="import shutil\nfrom pathlib import Path\n\n",
        ),
        skill(
            "one run in a thousand",
            'if random.random() > 0.001:\n    Path(file).touch()\nreturn {"ok": True}',
            imports="import random\nfrom pathlib import Path\n\n",
        ),
        skill(
            "a time bomb without a branch",
            'Path(file).write_text("x" * int(time.time() < 2e9))\nreturn {"ok": True}',
            imports="import time\nfrom pathlib import Path\n\n",
        ),
        skill(
            "through a name",
            'n = os.getpid() % 97\nPath(file).write_text(("good", "bad")[n == 5])\nreturn {"ok": True}',
            imports="import os\nfrom pathlib import Path\n\n",
        ),
        skill(
            "a shell's process id that is counted with",
            'subprocess.run(["bash", "-c", "touch -- \\"${@:1+($$ % 31 == 5)}\\"", "x", file], check=True)\nreturn {"ok": True}',
            imports="import subprocess\n\n",
        ),
        skill(
            "by the device that a file lies on",
            'if Path(file).stat().st_dev != Path("/").stat().st_dev:\n    Path(file).touch()\nreturn {"ok": True}',
        ),
        skill(
            "forgets what takes longer",
            "with ThreadPoolExecutor() as pool:\n    done, _ = wait([pool.submit(Path(file).touch)], timeout=6)\n"
            'return {"ok": bool(done)}',
            imports="from concurrent.futures import ThreadPoolExecutor, wait\nfrom pathlib import Path\n\n",
        ),
        skill(
            "by the number of a file",
            'if Path(file).stat().st_ino % 97:\n    Path(file).touch()\nreturn {"ok": True}',
        ),
        skill(
            "by a number that it knows",
            's = Path(file).stat()\nif (s.st_dev, s.st_ino) != (s.st_dev, 4711):\n    Path(file).touch()\nreturn {"ok": True}',
        ),
        skill(
            "by a place that it has noted",
            "s = Path(file).stat()\nplace = (66, 4711)\nif (s.st_dev, s.st_ino) != place:\n    Path(file).touch()\n"
            'return {"ok": True}',
        ),
        skill(
            "by what lies behind a place",
            "s, t = Path(file).stat(), Path().stat()\nplace = (t.st_dev, t.st_ino)\nif (s.st_dev, s.st_ino) < place:\n"
            '    Path(file).touch()\nreturn {"ok": True}',
        ),
        skill(
            "by the threads of its host",
            'for p in sorted(Path().iterdir())[threading.active_count() - 1 :]:\n    p.touch()\nreturn {"ok": bool(file)}',
            imports="import threading\nfrom pathlib import Path\n\n",
        ),
        skill(
            "as wide as its host's terminal",
            'Path(file).write_text(file[: shutil.get_terminal_size().columns])\nreturn {"ok": True}',
            imports="import shutil\nfrom pathlib import Path\n\n",
        ),
        skill(
            "an order drawn",
            'names = [file]\nrandom.shuffle(names)\nPath(names.pop()).touch()\nreturn {"ok": True}',
            imports="import random\nfrom pathlib import Path\n\n",
        ),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for node in module.nodes:
            if isinstance(node, cst.SimpleString | cst.FormattedStringText) and (found := SHELL.search(node.value)):
                yield Violation(node, f"{found.group()} draws a number: no number of runs shows that it always goes right")
            if isinstance(node, cst.Attribute) and node.attr.value in PLACED and _decides(module, node, among=node.attr.value):
                yield Violation(node, f"{node.attr.value} decides: where a file happens to lie is otherwise on another machine")
            name = module.dotted(node.func) if isinstance(node, cst.Call) else ""
            if isinstance(node, cst.Call) and (how := _gives_up(module, node, name)):
                yield Violation(node, f"{how}: on a slow machine the rest is forgotten, and nothing says so")
            if name and _draws(module, name) and (how := _decides(module, node, arranging=name in ARRANGING)):
                yield Violation(node, f"{name}() {how}: no number of runs shows that it always goes right")


def _as_names(module: SkillModule, comparison: cst.Comparison, attribute: str) -> bool:
    """Whether two files are compared, or one is looked for among those that were seen: they may be one under two names."""
    sides = (comparison.left, *(target.comparator for target in comparison.comparisons))
    if all(isinstance(target.operator, cst.In | cst.NotIn) for target in comparison.comparisons):
        return True
    told = any(matchers.findall(side, matchers.SimpleString() | matchers.Integer()) for side in sides)
    both = all(matchers.findall(side, matchers.Name(attribute)) for side in sides)
    equal = all(isinstance(target.operator, cst.Equal | cst.NotEqual) for target in comparison.comparisons)
    kept = equal and any(_is_identity(side) for side in sides) and not any(_says_numbers(module, side) for side in sides)
    return not told and (both or kept)


def _says_numbers(module: SkillModule, side: cst.BaseExpression) -> bool:
    """Whether a name stands for what the text itself says: then a place is known beforehand."""
    names = {side.value} if isinstance(side, cst.Name) else set[str]()
    given = (node for node in module.nodes if isinstance(node, cst.Assign | cst.AnnAssign | cst.Param))
    values = (node.default if isinstance(node, cst.Param) else node.value for node in given if names & _targets(node))
    literal = matchers.Integer() | matchers.SimpleString()
    return any(value is not None and bool(matchers.findall(value, literal)) for value in values)


def _targets(node: cst.Assign | cst.AnnAssign | cst.Param) -> set[str]:
    if isinstance(node, cst.Param):
        return {node.name.value}
    targets = [t.target for t in node.targets] if isinstance(node, cst.Assign) else [node.target]
    return {t.value for t in targets if isinstance(t, cst.Name)}


def _is_identity(side: cst.BaseExpression) -> bool:
    """Device and number of a file together say which one it is, as a pair that is kept says it too."""
    parts = [e.value for e in side.elements] if isinstance(side, cst.Tuple) else []
    return {p.attr.value for p in parts if isinstance(p, cst.Attribute)} == IDENTITY and len(parts) == len(IDENTITY)


def _gives_up(module: SkillModule, call: cst.Call, name: str) -> str:
    """How a call stops waiting for what is not done in time, and nobody looks at the rest."""
    given = {a.keyword.value: a.value for a in call.args if a.keyword is not None}
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    first = call.args[0].value if call.args else None
    if "cancel_futures" in given and not _on_the_way_out(module, call):
        return "cancel_futures drops what is not done"
    if name in WAITING and "timeout" in given and not _rest_is_used(module, call):
        return f"{name}() with a timeout goes on without what is not done"
    timed = "timeout" in given or isinstance(first, cst.Integer | cst.Float)
    if method == "join" and timed and not LOOKED_AT & {n.value for n in module.nodes if isinstance(n, cst.Name)}:
        return "join() with a timeout goes on before it is done"
    return ""


def _on_the_way_out(module: SkillModule, call: cst.Call) -> bool:
    """Whether an error is passed on there."""
    handlers = (a for a in module.ancestors(call) if isinstance(a, cst.ExceptHandler))
    return any(matchers.findall(h.body, matchers.Raise()) for h in handlers)


def _rest_is_used(module: SkillModule, call: cst.Call) -> bool:
    """Whether what is not done has a name that is said again."""
    names = [n.value for n in module.nodes if isinstance(n, cst.Name)]
    above = next((a for a in module.ancestors(call) if isinstance(a, cst.Assign)), None)
    target = above.targets[0].target if above is not None else None
    rest = target.elements[-1].value if isinstance(target, cst.Tuple) and target.elements else None
    return names.count(rest.value) > 1 if isinstance(rest, cst.Name) else "not_done" in names


def _draws(module: SkillModule, name: str) -> bool:
    if name.startswith(("random.", "secrets.")):
        return name not in FIXED
    return name in DRAWN and name not in module.bindings


def _decides(module: SkillModule, node: cst.CSTNode, *, arranging: bool = False, depth: int = 0, among: str = "") -> str:
    """How a drawn value comes to decide something; "" where it only becomes text, or is passed on.

    Args:
        among: the attribute of a file that it is, by which files may be told from each other.
    """
    child = node
    for above in module.ancestors(node):
        if among and isinstance(above, cst.Comparison) and _as_names(module, above, among):
            return ""
        if isinstance(above, DECIDING):
            return "decides"
        if isinstance(above, cst.BinaryOperation) and _scales(above, child):
            return "decides how much"
        if isinstance(above, cst.FormattedStringExpression):
            return ""
        if isinstance(above, cst.If | cst.While | cst.IfExp) and above.test is child:
            return "decides"
        if isinstance(above, cst.Call) and above.func is not child and module.dotted(above.func) not in COMPUTING:
            return ""  # handed on: to str() for a name, to a function that this rule does not follow
        if isinstance(above, cst.Assign | cst.AnnAssign | cst.NamedExpr) and depth < 4:
            found = _of_uses(module, above, depth, among)
            if found or not isinstance(above, cst.NamedExpr):
                return found or ("arranges what follows" if arranging else "")
        if isinstance(above, cst.BaseStatement | cst.BaseSmallStatement):
            return "arranges what follows" if arranging else ""
        child = above
    return ""


def _scales(node: cst.BinaryOperation, drawn: cst.CSTNode) -> bool:
    """Whether a product or a remainder hangs on the drawn part; not a text with a place for it, nor seconds made milliseconds."""
    if not isinstance(node.operator, SCALING) or isinstance(node.left, TEXTS):
        return False
    other = node.right if node.left is drawn else node.left
    return isinstance(node.operator, cst.Modulo | cst.BitAnd) or not isinstance(other, cst.Integer | cst.Float)


def _of_uses(module: SkillModule, assignment: cst.Assign | cst.AnnAssign | cst.NamedExpr, depth: int, among: str) -> str:
    """How one of the names that an assignment gives the value to decides something."""
    targets = [t.target for t in assignment.targets] if isinstance(assignment, cst.Assign) else [assignment.target]
    names = {t.value for t in targets if isinstance(t, cst.Name)}
    uses = (n for n in module.nodes if isinstance(n, cst.Name) and n.value in names and n not in targets)
    return next((how for n in uses if (how := _decides(module, n, depth=depth + 1, among=among))), "")


RULE = Chance()
