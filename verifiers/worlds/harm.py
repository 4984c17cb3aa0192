"""What is wrong on any start, whatever the commands do: bytes lost that they leave as they are. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from sandbox.interface import Entry, ReplayRecord, Snapshot
from verifiers.context import Case, Wrong
from verifiers.expectation.answers import answer_at
from verifiers.expectation.equivalence import content_digest, differences, durable_effects, show
from verifiers.expectation.oracle import Expectation
from verifiers.expectation.rows import renumbered
from verifiers.interface import Args
from verifiers.worlds.template import as_text
from verifiers.worlds.tokens import tokens


@dataclass(frozen=True, slots=True)
class Keeping:
    """What a task that changes a file lets stand of it: its lines."""

    ordered: bool = False
    """In the order that they had."""
    named: bool = True
    """Those too that hold an argument; else it may change them."""

    def holds(self, before: bytes, after: bytes, args: Args) -> bool:
        """Whether every such line is still there, as often as it was."""
        rows, others = before.removesuffix(b"\n").split(b"\n"), after.split(b"\n")
        if not self.named:
            rows = self.of(before, args)
        if not self.ordered:
            return not Counter(rows) - Counter(others)
        left = iter(others)
        return all(any(row == other for other in left) for row in rows)

    def of(self, text: bytes, args: Args) -> list[bytes]:
        """The lines of a text that hold no argument."""
        said = [t.encode("utf-8", "surrogateescape").lower() for v in args.values() if (t := as_text(v).strip())]
        return [row for row in text.removesuffix(b"\n").split(b"\n") if not any(t in row.lower() for t in said)]


KEEPINGS = tuple(Keeping(ordered, named) for named in (True, False) for ordered in (True, False))
"""The strictest first."""


def untouched(base: Snapshot, record: ReplayRecord) -> bool:
    """Whether a refusing run left its workspace alone: raising after the damage is no refusal."""
    return not durable_effects(base, record.post)


def harmless(case: Case, record: ReplayRecord) -> bool:
    """Whether everything is as it was or as it should be: what a refusing run may leave."""
    changed = {(d.path, d.kind) for d in differences(case.base, record.post, root=False)}
    wrong = {(d.path, d.kind) for d in differences(case.expectation.tree, record.post, root=False)}
    return not changed & wrong


def lost(case: Case, record: ReplayRecord, made: Collection[str] = ()) -> Wrong | None:
    """What the commands leave as it is and what is not so after the run: a file removed whose bytes are nowhere, one overwritten
    by something that shares no line with it, a mode that nobody asked to change, the number of a database's row.

    What a careful skill edits, moves or packs, where naive commands pass it over, is not lost.

    Args:
        made: paths that the task makes: an older result may be made anew, but not emptied.
    """
    before, after = case.base, record.post
    database = renumbered(before, case.expectation.tree, after)
    if database:
        return Wrong("effect", f"rows of {database} get other numbers (rowid)", "as before", "others")
    moved = {e.content for p, e in after.items() if e.type == "file" and before.get(p) != e}
    chmods = any(e.kind == "mode" for e in case.expectation.effects)
    for path, e in before.items():
        now = after.get(path)
        if e.type != "file" or case.expectation.tree.get(path) != e or now == e:
            continue
        if path in made and now is not None and now.content:
            continue
        if now is not None and now.mode == e.mode and _holds_the_same(e, now):
            continue
        if e.content in moved and (now is None or now.content != e.content):
            continue
        if now is not None and now.type == "file" and (_edited(e.content, now.content) and (chmods or now.mode == e.mode)):
            continue
        shown = show(now) if now is not None else "no such path"
        found = differences({path: e}, {path: now} if now is not None else {})
        return Wrong("effect", f"{path} is lost, which the trace's commands leave as it is", show(e), shown, found)
    return None


def vanished(case: Case, record: ReplayRecord, made: Collection[str] = ()) -> Wrong | None:
    """A file that the commands keep under some name, whatever it holds, and that the run takes away for no other.

    Args:
        made: paths that the task makes: an older result may be made anew.
    """
    if any(p in case.base for p in made):
        return None
    before, wanted, after = (_contents(t) for t in (case.base, case.expectation.tree, record.post))
    fewer = sum(wanted.values()) - sum(after.values())
    for content, count in before.items():
        if fewer > 0 and after[content] < count <= wanted[content]:
            path = next(p for p, e in case.base.items() if e.type == "file" and e.content == content and record.post.get(p) != e)
            return Wrong("effect", f"{path} is gone, which the trace's commands keep", show(case.base[path]), "no such file")
    return None


def _contents(tree: Mapping[str, Entry]) -> Counter[bytes]:
    return Counter(e.content for e in tree.values() if e.type == "file")


def line_lost(case: Case, record: ReplayRecord, keeping: Mapping[str, Keeping]) -> Wrong | None:
    """A line that the commands keep and the run does not, in a file whose lines the task lets stand.

    Args:
        keeping: files, and which of their lines every recording keeps.
    """
    for path, keeps in keeping.items():
        before, wanted, now = case.base.get(path), case.expectation.tree.get(path), record.post.get(path)
        if before is None or wanted is None or now is None or "file" not in (before.type, wanted.type, now.type):
            continue
        old, right, new = (e.content.replace(b"\r\n", b"\n") for e in (before, wanted, now))
        if keeps.holds(old, right, case.args) and not keeps.holds(old, new, case.args):
            return Wrong("effect", f"{path} loses a line that the trace's commands keep", show(wanted), show(now))
    return None


def between(paths: Iterable[str], x: Expectation, post: Snapshot, blanks: bytes = b"") -> bool:
    """Whether each of these paths is as it was, as it should be, or something between: a file of the same mode in which each line
    comes as often as in the one or the other, or a number of times between. ``blanks`` around lines do not count."""
    return all(_is_between(x.base.get(p), x.tree.get(p), post.get(p), blanks) for p in paths)


def _is_between(then: Entry | None, wanted: Entry | None, now: Entry | None, blanks: bytes) -> bool:
    if now in (then, wanted):
        return True
    if then is None or now is None or (then.type, then.mode) != (now.type, now.mode):
        return False
    right = wanted.content if wanted is not None else then.content
    rows = (content.split(b"\n") for content in (then.content, right, now.content))
    old, new, found = (Counter(row.strip(blanks) if blanks else row for row in each) for each in rows)
    return old & new <= found <= old | new


def words_lost(case: Case, record: ReplayRecord, recorded: Snapshot) -> Wrong | None:
    """A word that a start has and the recorded one has not, which the commands keep where they change its file, and the run does
    not; or what stands around it at the end of its line, if the run changes that instead."""
    for path, e in case.base.items():
        wanted, now, before = case.expectation.tree.get(path), record.post.get(path), recorded.get(path)
        if before is None or wanted is None or now is None or wanted == e or now.type != "file":
            continue
        for word in sorted(_words(e) - _words(before)):
            if now.content.count(word) < min(e.content.count(word), wanted.content.count(word)):
                told = word.decode("utf-8", "replace")
                return Wrong("effect", f"{path} loses {told!r}, which the trace's commands keep", show(wanted), show(now))
            theirs, ours = _line_of(wanted, word), _line_of(now, word)
            kept = _common_end(_line_of(e, word), theirs).rpartition(b"  ")[2]
            # Who changes it there too reads the task in another way; who changes it only there has the wrong place.
            if word in kept and not ours.endswith(kept) and not ours.startswith(theirs.removesuffix(kept)):
                told = kept.decode("utf-8", "replace")
                return Wrong("effect", f"{path} changes {told!r}, which the trace's commands keep", show(wanted), show(now))
    return None


def _common_end(one: bytes, other: bytes) -> bytes:
    length = next((n for n, (a, b) in enumerate(zip(one[::-1], other[::-1], strict=False)) if a != b), min(len(one), len(other)))
    return one[len(one) - length :]


def _line_of(entry: Entry, word: bytes) -> bytes:
    """The first line that has a word."""
    return next((line for line in entry.content.split(b"\n") if word in line), b"")


def words_unsaid(case: Case, record: ReplayRecord, recorded: Snapshot, answer_path: str | None) -> Wrong | None:
    """A word that a start has and the recorded one has not, which the commands' answer says, and the run's does not."""
    said = answer_at(getattr(record.outcome, "value", None), answer_path) if answer_path is not None else None
    if said is None or not case.expectation.answer_known:
        return None
    wanted = case.expectation.answer
    new = set().union(*map(_words, case.base.values())) - set().union(*map(_words, recorded.values()))
    for word in sorted(w.decode("utf-8", "surrogateescape") for w in new):
        if said.count(word) < wanted.count(word):
            return Wrong("answer", f"its answer lacks {word!r}, which the trace's commands say", wanted, said)
    return None


def _words(entry: Entry) -> set[bytes]:
    return {t.encode("utf-8", "surrogateescape") for t in tokens(entry.content.decode("utf-8", "surrogateescape"))}


def ends_changed(case: Case, record: ReplayRecord) -> Wrong | None:
    """A file whose line ends, all of Windows, the commands keep, or whose last line they leave as it is and without one, and of
    which the run makes other ones, with nothing else different: bytes that nobody spoke of."""
    for path, before in case.base.items():
        wanted, now = case.expectation.tree.get(path), record.post.get(path)
        if wanted is None or now is None or _without_ends(now.content) != _without_ends(wanted.content):
            continue
        windows = b"\n" not in before.content.replace(b"\r\n", b"")
        returns = windows and now.content.count(b"\r\n") < wanted.content.count(b"\r\n")
        last = before.content.rpartition(b"\n")[2]
        ended = bool(last) and wanted.content.rpartition(b"\n")[2] == last and now.content.endswith(b"\n")
        if returns or ended:
            return Wrong("effect", f"the line ends of {path} change, which the trace's commands keep", show(wanted), show(now))
    return None


def _without_ends(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n").removesuffix(b"\n")


def glued(case: Case, record: ReplayRecord, keeping: Mapping[str, Keeping]) -> bool:
    """Whether what is added stands on the user's last line, which had no end."""
    for path in (p for p, keeps in keeping.items() if keeps.named):
        before, now = case.base.get(path), record.post.get(path)
        if before is None or now is None or "file" not in (before.type, now.type) or before.content.endswith(b"\n"):
            continue
        if now.content != before.content and not Keeping().holds(before.content, now.content, case.args):
            return True
    return False


def overwritten(case: Case, record: ReplayRecord, places: Collection[str]) -> bool:
    """Whether what stood at one of the places is nowhere any more."""
    stood = [case.base[p].content for p in places if p in case.base and case.base[p].type == "file"]
    left = {e.content for e in record.post.values()}
    return any(content and content not in left for content in stood)


def reached(case: Case, record: ReplayRecord, stays: Collection[str]) -> Wrong | None:
    """A path that only a link leads to, and that the run changes."""
    for path in stays:
        before, now = case.base[path], record.post.get(path)
        if now != before:
            shown = show(now) if now is not None else "no such path"
            return Wrong("effect", f"{path} is changed, which only a link leads to", show(before), shown)
    return None


def _holds_the_same(old: Entry, now: Entry) -> bool:
    """Whether an archive or a database was only packed anew."""
    return now.type == "file" and content_digest(old.content) == content_digest(now.content)


def _edited(old: bytes, new: bytes) -> bool:
    """Whether a text is another one's, with changes: nothing is lost of an empty one."""
    kept = {x for x in old.split(b"\n") if x.strip()}
    return not kept or bool(kept & set(new.split(b"\n")))
