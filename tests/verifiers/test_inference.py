"""Bindings guessed from names, types and descriptions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandbox.interface import Entry, JsonValue, Snapshot
from verifiers.binding.bindings import foreign
from verifiers.binding.inference import Guess, infer_bindings
from verifiers.interface import Evidence, Parameter, Subject

names = st.from_regex(r"[a-z][a-z0-9]{1,7}", fullmatch=True)


def trace(n: int, *commands: str, description: str = "", base: tuple[str, ...] = (), success: bool = True) -> Evidence:
    snapshot = Snapshot({p: Entry("file") for p in base})
    return Evidence(f"t{n}", description, commands, ("",) * len(commands), None, None, snapshot, None, success)


def skill(*parameters: tuple[str, str, str]) -> Subject:
    return Subject("s", "s.py", "", tuple(Parameter(n, a, d, True) for n, a, d in parameters))


def best(subject: Subject, *traces: Evidence) -> dict[str, dict[str, JsonValue]]:
    guess = next(infer_bindings(subject, traces))
    assert guess.supported
    assert all(b.inferred for b in guess.bindings.values())
    return {task: dict(b.args) for task, b in guess.bindings.items()}


def rename(n: int, old: str, new: str) -> Evidence:
    return trace(n, "ls", f'for f in *.{old}; do mv "$f" "${{f%.{old}}}.{new}"; done', description=f"rename {old} to {new}")


RENAME = skill(("old_ext", "str", "suffix without dot"), ("new_ext", "str", "new suffix without dot"))


def test_extensions_of_a_rename() -> None:
    """Parts of words, in the order that the names say."""
    got = best(RENAME, rename(1, "txt", "md"), rename(2, "htm", "html"))
    assert got == {"t1": {"old_ext": "txt", "new_ext": "md"}, "t2": {"old_ext": "htm", "new_ext": "html"}}


def test_declaration_order_does_not_matter() -> None:
    """A skill that takes the new extension first still gets the right ones."""
    swapped = Subject("s", "s.py", "", RENAME.parameters[::-1])
    assert best(swapped, rename(1, "txt", "md"), rename(2, "htm", "html"))["t1"] == {"old_ext": "txt", "new_ext": "md"}


def test_swapped_names_are_offered_as_unsupported_only() -> None:
    """The swap is there for behaviour to point at, marked as not supported by the names."""
    guesses = list(infer_bindings(RENAME, [rename(1, "txt", "md"), rename(2, "htm", "html")]))
    swapped = [g for g in guesses if g.bindings["t1"].args == {"old_ext": "md", "new_ext": "txt"}]
    assert swapped
    assert not any(g.supported for g in swapped)


def test_options_numbers_and_quotes() -> None:
    """An option's letter, a number's type and quoted names lead to the right words."""
    subject = skill(("infile", "str", "input file"), ("lines", "int", "lines of a piece"), ("prefix", "str", "name prefix"))
    got = best(
        subject,
        trace(1, "wc -l 'big list.txt'", "split -d -l 10 'big list.txt' part.", base=("big list.txt",)),
        trace(2, "wc -l urls", "split -d -l 3 urls u-", base=("urls",)),
    )
    assert got["t1"] == {"infile": "big list.txt", "lines": 10, "prefix": "part."}
    assert got["t2"] == {"infile": "urls", "lines": 3, "prefix": "u-"}


def test_what_words_share_is_not_part_of_the_value() -> None:
    """``# My Project`` and ``# API`` bind ``My Project`` and ``API``."""
    got = best(skill(("title", "str", "title")), trace(1, "echo '# My Project' > README"), trace(2, "echo '# API' > README"))
    assert got == {"t1": {"title": "My Project"}, "t2": {"title": "API"}}


def test_lists_are_a_call_s_arguments() -> None:
    """A list parameter gets all arguments of one call."""
    got = best(skill(("paths", "list[str]", "directories")), trace(1, "mkdir -p a 'b c'"), trace(2, "mkdir -p d"))
    assert got == {"t1": {"paths": ["a", "b c"]}, "t2": {"paths": ["d"]}}


def test_flags_are_looked_up() -> None:
    """A boolean is true if the commands have its option."""
    subject = skill(("recursive", "bool", "descend"), ("directory", "str", "directory"))
    got = best(subject, trace(1, "chmod -R 700 docs", base=("docs/a",)), trace(2, "chmod -R 700 src", base=("src/a",)))
    assert got["t1"] == {"recursive": True, "directory": "docs"}


def test_mentions_in_the_description_decide() -> None:
    """Two alike values are told apart by the word before them."""
    subject = skill(("width", "int", "pixels"), ("height", "int", "pixels"))
    got = best(
        subject,
        trace(1, "resize 20 30 a.png", description="make height 20 and width 30"),
        trace(2, "resize 7 9 b.png", description="make height 7 and width 9"),
    )
    assert got["t1"] == {"width": 30, "height": 20}


def test_nothing_to_bind() -> None:
    """No parameters: empty bindings. No traces, or an int where no number is: no guess."""
    assert best(skill(), trace(1, "ls")) == {"t1": {}}
    assert list(infer_bindings(RENAME, [])) == []
    assert list(infer_bindings(skill(("count", "int", "")), [trace(1, "ls -a")])) == []


def test_failed_traces_are_not_bound() -> None:
    """Negative evidence needs no binding when there is positive."""
    guess = next(infer_bindings(RENAME, [rename(1, "txt", "md"), rename(2, "a", "b"), trace(3, "false", success=False)]))
    assert set(guess.bindings) == {"t1", "t2"}


def test_many_parameters_stay_quick() -> None:
    """Eight parameters: few places each, still the right ones."""
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    subject = skill(*((name, "str", "") for name in words))
    traces = [trace(n, "run " + " ".join(f"--{w} {w[::-1]}{n}" for w in words)) for n in (1, 2)]
    assert best(subject, *traces)["t1"] == {w: f"{w[::-1]}1" for w in words}


def test_the_reason_names_the_place() -> None:
    """People read where a value was taken from."""
    guess = next(infer_bindings(skill(("file", "str", "path")), [trace(1, "cat a.txt"), trace(2, "cat b.txt")]))
    assert guess.why == "file from cat argument 0"


commands = st.lists(st.text(alphabet="abc .*/{}'\"$|;->3", max_size=25), min_size=1, max_size=3)


@given(st.lists(commands, min_size=1, max_size=3), st.sampled_from(["str", "int", "list[str]", "float"]))
def test_guesses_come_from_the_trace(rows: list[list[str]], annotation: str) -> None:
    """Whatever the commands are: guesses are few, sorted, and their values occur in the trace."""
    traces = [trace(n, *row) for n, row in enumerate(rows)]
    guesses: list[Guess] = list(infer_bindings(skill(("x", annotation, "a value")), traces))
    assert len(guesses) <= 24
    assert [g.supported for g in guesses] == sorted((g.supported for g in guesses), reverse=True)
    for guess in guesses:
        for t in traces:
            value = guess.bindings[t.task_id].args["x"]
            leaves = value if isinstance(value, list) else [value]
            assert not any("does not occur" in foreign(leaf, t) for leaf in leaves)


@given(names, names, names, names)
def test_order_holds_for_any_names(a: str, b: str, c: str, d: str) -> None:
    """Copy's source and destination are never swapped, whatever they are called."""
    if len({a, b, c, d}) == 4:
        subject = skill(("src", "str", "source path"), ("dest", "str", "destination path"))
        got = best(subject, trace(1, f"cp -r {a} {b}", base=(f"{a}/x",)), trace(2, f"cp -r {c} {d}", base=(f"{c}/x",)))
        assert got == {"t1": {"src": a, "dest": b}, "t2": {"src": c, "dest": d}}
