"""Edit programs from (start, end, request): what is inferred from a few examples holds on others."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from states_bind import bind

from sandbox.interface import Entry, Snapshot
from synth.embedded import EmbeddedGenerator
from synth.embedded.states.examples import Example, example_of
from synth.embedded.states.learn import Program, programs
from synth.interface import TracePattern
from verifiers.binding.provenance import foreign
from verifiers.interface import Edit, Evidence, Verdict
from verifiers.source.static import run_static
from verifiers.subject import parse_subject

Case = tuple[str, Mapping[str, str], Mapping[str, str]]
"""Request, start, end."""


def learned(*cases: Case) -> Program:
    """The simplest program for these cases."""
    found = next(programs([Example(f"t{n}", *case) for n, case in enumerate(cases)]), None)
    assert found is not None
    return found


def made(program: Program, start: Mapping[str, str], **args: str | tuple[str, ...]) -> Mapping[str, str]:
    return program.run(args, dict(start))


def names(program: Program) -> list[str]:
    return [p.name for p in program.parameters]


# ---------------------------------------------------------------- any program


FORMS = {
    "package.json": '{\n  "name": "it",\n  "version": "%s",\n%s  "private": true\n}\n',
    "Cargo.toml": '[package]\nname = "it"\nversion = "%s"\n\n[dependencies]\n%sserde = { version = "1" }\n',
    "setup.cfg": "[metadata]\nname = it\nversion = %s\n\n[options]\n%spackages = find:\n",
    "conf.yaml": "app:\n  name: it\n  version: %s\n%sother:\n  - a\n",
    "src/it/__init__.py": '"""It."""\n\n__version__ = "%s"\n%s__all__ = []\n',
    "README.md": "# It\n\nInstall it==%s with pip.\n\n%s## More\n",
}
NOISE = {
    "package.json": '  "needs": "%s",\n', "Cargo.toml": 'dep = "%s"\n', "setup.cfg": "dep = %s\n", "conf.yaml": "  needs: %s\n",
    "src/it/__init__.py": 'NEEDS = "%s"\n', "README.md": "Needs other==%s.\n\n",
}  # fmt: skip
NUMBER = st.integers(0, 30)
VERSION = st.builds(lambda a, b, c: f"{a}.{b}.{c}", st.integers(1, 30), NUMBER, NUMBER)
SECTION = st.sampled_from([None, "# Changes\n\n", "Changes\n=======\n\n"])


@st.composite
def histories(draw: st.DrawFn) -> list[Case]:
    """Releases of one project: files that hold the version, some of them beside the same value in another role, a changelog."""
    files = draw(st.lists(st.sampled_from(sorted(FORMS)), min_size=1, max_size=3, unique=True))
    noisy = draw(st.sets(st.sampled_from(files)))
    head = draw(SECTION)
    ask = draw(st.sampled_from(["Release {}", "v{}", "chore: bump the version to {}\n\nAs every week."]))
    versions = draw(st.lists(VERSION, min_size=7, max_size=7, unique=True))
    log, out = head, []
    for n, (old, new) in enumerate(pairwise(versions)):
        start, end = ({p: FORMS[p] % (v, NOISE[p] % old if p in noisy else "") for p in files} for v in (old, new))
        if log is not None:
            title = f"{new} - 20{10 + n}-0{n % 9 + 1}-11"
            entry = f"{title}\n{'-' * len(title)}\n\n* Change {n}, and more of {'it' * n}.\n\n"
            start["CHANGES.md"], log = log, (head or "") + entry + log.removeprefix(head or "")
            end["CHANGES.md"] = log
        out.append((ask.format(new), start, end))
    return out


@settings(max_examples=60)
@given(histories())
def test_what_four_releases_show_makes_the_next_two(history: list[Case]) -> None:
    """The same value in another role stays; what is right on four is right on two that it was not made from, and only once."""
    program = learned(*history[:4])
    for case in history[4:]:
        found = bind(program, Example("new", *case))
        assert found.args is not None
        assert program.run(found.args, dict(case[2])) == case[2]


# ---------------------------------------------------------------- scope


def lock(version: str, dependency: str) -> str:
    return (
        f'{{\n  "version": "{version}",\n  "packages": {{\n    "": {{\n      "license": "MIT",\n      "version": "{version}"\n'
        f'    }},\n    "dep": {{\n      "license": "MIT",\n      "version": "{dependency}"\n    }}\n  }}\n}}\n'
    )


def test_the_place_is_told_by_what_it_stands_under() -> None:
    """The own entry of a lock file, not that of another package with the same version."""
    cases = [
        (f"Release {b}", {"lock.json": lock(a, d)}, {"lock.json": lock(b, d)})
        for a, b, d in (("1.0.0", "1.1.0", "1.0.0"), ("1.1.0", "2.0.0", "0.9"), ("2.0.0", "2.0.1", "3"))
    ]
    program = learned(*cases)
    assert made(program, {"lock.json": lock("2.0.1", "2.0.1")}, version="2.1.0") == {"lock.json": lock("2.1.0", "2.0.1")}


def test_a_section_tells_the_place() -> None:
    """Of keys with one name the one under its heading, which may be the first line."""
    text = "[package]\n{}version = {}\n[other]\nversion = {}\n"
    extra = ("", "a = 1\n", "b = 2\nc = 3\n", "d = 4\n")
    files = [[{"t.toml": text.format(x, v, "1.0")} for v in (f"{n}.0", f"{n + 1}.0")] for n, x in enumerate(extra, 1)]
    program = learned(*((f"Release {n}.0", *pair) for n, pair in enumerate(files[:3], 2)))
    assert made(program, files[3][0], version="5.0") == files[3][1]


def test_a_value_of_the_request_may_be_the_place() -> None:
    """All pins of the action that the request names, in whichever file, and no others."""
    flow = "jobs:\n  - uses: acts/checkout@{}\n  - uses: acts/cache@{}\n  - uses: acts/checkout@{}\n"

    def case(name: str, old: tuple[str, str], new: tuple[str, str], file: str) -> Case:
        texts = [flow.format(c, d, c) for c, d in (old, new)]
        return f"Update acts/{name} from {old[name == 'cache']} to {new[name == 'cache']}", {file: texts[0]}, {file: texts[1]}

    program = learned(
        case("checkout", ("v1", "v7"), ("v2", "v7"), "ci/a.yml"),
        case("cache", ("v2", "v7"), ("v2", "v8"), "ci/a.yml"),
        case("checkout", ("v2", "v8"), ("v4", "v8"), "ci/b.yml"),
    )
    texts = [{"ci/c.yml": flow.format("v4", v, "v4")} for v in ("v4", "v9")]
    assert bind(program, Example("new", "Update acts/cache from v4 to v9", *texts)).args is not None


def test_nothing_to_change_is_an_error() -> None:
    """A place that is not there is no success."""
    program = learned(*(("Release 2", {"a": f"v = {n}.0\n"}, {"a": f"v = {n}.1\n"}) for n in (3, 4, 5)))
    with pytest.raises(ValueError, match="nothing to change"):
        made(program, {"a": "w = 1\n"}, **dict.fromkeys(names(program), "7.1"))


# ---------------------------------------------------------------- values


def test_values_that_follow_from_others_are_no_parameters() -> None:
    """major.minor beside the version, and a rule as long as its heading."""
    cases = [
        (
            f"Release {v}",
            {"a": "v: 0.0.1\nshort: 0.0\n", "log": "# Log\n\n"},
            {"a": f"v: {v}\nshort: {s}\n", "log": f"# Log\n\n{v}\n{'=' * len(v)}\n\n"},
        )
        for v, s in (("1.20.3", "1.20"), ("1.21.0", "1.21"), ("20.0.11", "20.0"), ("2.0.0", "2.0"))
    ]  # fmt: skip
    program = learned(*cases)
    assert names(program) == ["version"]
    end = made(program, cases[0][1], version="13.14.15")
    assert end == {"a": "v: 13.14.15\nshort: 13.14\n", "log": "# Log\n\n13.14.15\n========\n\n"}


def test_the_next_version_is_computed_where_no_request_tells_it() -> None:
    """No parameter at all; what is done already stays."""
    cases = [
        ("Start the next cycle", {"v.py": f'v = "{a}"\n'}, {"v.py": f'v = "{b}.dev0"\n'})
        for a, b in (("23.0", "23.1"), ("23.9", "23.10"), ("24.2", "24.3"))
    ]
    program = learned(*cases)
    assert names(program) == []
    assert made(program, {"v.py": 'v = "9.9"\n'}) == {"v.py": 'v = "9.10.dev0"\n'}


def test_foreign_values_are_parameters() -> None:
    """Digests that nothing tells, as many as there are places."""
    formula = 'version "{}"\nsha256 "{}"\nif arm\n  sha256 "{}"\n'
    texts = [{"f.rb": formula.format(f"{n}.0", f"{n}b" * 32, f"{n}c" * 32)} for n in range(6)]
    program = learned(*((f"Update to {n + 1}.0", *texts[n : n + 2]) for n in range(3)))
    assert [(p.name, p.in_request) for p in program.parameters] == [("new_version", True), ("digest", False), ("digest_2", False)]
    assert made(program, texts[3], new_version="4.0", digest="4b" * 32, digest_2="4c" * 32) == texts[4]


# ---------------------------------------------------------------- lines, files


def page(version: str, date: str) -> dict[str, str]:
    return {"it.1": f".Date: {date}\n.Source: it {version}\n.Section: 1\n"}


STAMPED = [("1.0", "2024-01-02"), ("1.1", "2024-03-04"), ("1.2", "2024-03-04"), ("1.3", "2024-05-06"), ("1.4", "2024-07-08")]


def test_a_value_that_once_stayed_as_it_was_is_a_parameter_too() -> None:
    """The page was not made anew for 1.2: its line did not change, and the date is the one that stood there."""
    program = learned(*((f"Release {new[0]}", page(*old), page(*new)) for old, new in pairwise(STAMPED)))
    assert program.env(1) == {"version": "1.2", "date": "2024-03-04"}
    assert made(program, page("1.4", "2024-07-08"), version="1.5", date="2025-01-01") == page("1.5", "2025-01-01")


def test_a_line_that_most_changed_alike_is_no_value() -> None:
    """What some did besides is not what all do."""
    cases = [
        (f"Release {new[0]}", {**page(*old), "log": f"draft {n % 3}\n"}, {**page(*new), "log": "done\n" if n else "draft 0\n"})
        for n, (old, new) in enumerate(pairwise(STAMPED))
    ]
    assert next(programs([Example(f"t{n}", *case) for n, case in enumerate(cases)]), None) is None


def test_a_line_goes_where_it_sorts() -> None:
    """Among the lines like it; behind the last of them is an error."""

    def listed(*items: str) -> dict[str, str]:
        return {"x.json": "[\n" + "".join(f'  "{i}",\n' for i in items) + '  "zzz"\n]\n'}

    program = learned(
        ("Add bmp", listed("avi", "gif", "png"), listed("avi", "bmp", "gif", "png")),
        ("Add cur", listed("avi", "bmp", "gif"), listed("avi", "bmp", "cur", "gif")),
        ("Add `jpg` (#4)", listed("gif", "heic", "png"), listed("gif", "heic", "jpg", "png")),
    )
    assert made(program, listed("a", "c", "e"), name="d") == listed("a", "c", "d", "e")
    assert made(program, listed("a", "c", "e"), name="c") == listed("a", "c", "e")
    with pytest.raises(ValueError, match="behind the last"):
        made(program, listed("a", "c"), name="x")


def test_a_file_is_made_from_the_newest_before_it() -> None:
    """Name and content follow the version; the digest is given."""
    body = 'need 8\nget "it-{}" "https://x.org/{}/it-{}.tgz#{}"\n'
    digests = ["ab12" * 16, "cd34" * 16, "0f9e" * 16, "77aa" * 16]
    start = {"defs/it-9.0.0": body.format(*["9.0.0"] * 3, digests[0]).replace("need 8", "need 11")}
    cases = []
    for v, digest in zip(("9.1.0", "9.2.0", "9.10.0"), digests[1:], strict=True):
        start = {**start, "defs/it-8.0.0": "old\n"}
        last = start[max((p for p in start if p != "defs/it-8.0.0"), key=lambda p: tuple(map(int, p[8:].split("."))))]
        old = last.split('"it-')[1].split('"')[0]
        new = last.replace(old, v).replace(last.split("#")[1].split('"')[0], digest)
        cases.append((f"Add it {v}", dict(start), {**start, f"defs/it-{v}": new}))
        start = {**start, f"defs/it-{v}": new}
    program = learned(*cases)
    end = made(program, {**start, "defs/it-10.0.0": "newer\n"}, version="9.11.0", digest="f00d" * 16)
    assert end["defs/it-9.11.0"] == 'need 11\nget "it-9.11.0" "https://x.org/9.11.0/it-9.11.0.tgz#' + "f00d" * 16 + '"\n'
    with pytest.raises(ValueError, match="exists already"):
        made(program, {**start, "defs/it-9.11.0": "mine\n"}, version="9.11.0", digest="f00d" * 16)


def test_no_value_leads_a_new_file_out_of_its_folder() -> None:
    """Neither up, nor to the root, nor by a longer way to itself; the skill that is written refuses it as the search does."""
    cases: list[Case] = [(f"Note {w} down", {}, {f"notes/{w}.md": f"# {w}\n"}) for w in ("one", "two", "three")]
    program = learned(*cases)
    (name,) = names(program)
    assert made(program, {}, **{name: "four"}) == {"notes/four.md": "# four\n"}
    for value in ("../four", "../../four", "x/../../../four", "./four"):
        with pytest.raises(ValueError, match="leads out of its folder"):
            made(program, {}, **{name: value})
    traces = [evidence(f"t{n}", *case) for n, case in enumerate(cases)]
    assert "_straight(name)" in generated(traces)[1][0]
    at_the_root = learned(*((f"Make {w}/x", {}, {f"{w}/x": "1\n"}) for w in ("one", "two", "three")))
    with pytest.raises(ValueError, match="leads out of its folder"):
        made(at_the_root, {}, **{names(at_the_root)[0]: "/etc"})


def test_files_go_and_get_names_by_a_pattern() -> None:
    """All that are called so, in that folder alone."""
    cases: list[Case] = []
    for n in range(3):
        keep = {"a/x.py": "1", "b/k.bak": "2", f"doc/{n}_guide.txt": f"g{n}"}
        cases.append(
            (
                "Tidy up",
                {**keep, f"a/{n}.bak": "x", f"a/{n}more.bak": "y"},
                {p.replace(".txt", ".md"): t for p, t in keep.items()},
            )
        )
    program = learned(*cases)
    end = made(program, {"a/q.bak": "x", "a/q.py": "y", "b/q.bak": "z", "doc/q_guide.txt": "t"})
    assert end == {"a/q.py": "y", "b/q.bak": "z", "doc/q_guide.md": "t"}


def test_lines_go() -> None:
    """The line that the request names; what is gone already stays gone."""
    text = "x\n*.log\n/build\n.env\n"
    cases = [(f"Stop ignoring {w}", {".gitignore": text}, {".gitignore": text.replace(f"{w}\n", "")}) for w in ("/build", ".env")]
    cases.append(("Stop ignoring /dist", {".gitignore": "/dist\n/src\n"}, {".gitignore": "/src\n"}))
    program = learned(*cases)
    (name,) = names(program)
    assert made(program, {".gitignore": "a\n/b\nc\n"}, **{name: "/b"}) == {".gitignore": "a\nc\n"}


# ---------------------------------------------------------------- nothing to learn


def test_free_objects_are_no_program() -> None:
    """Entries all of whose values are free: a skill would only paste what it is given."""
    entry = '  {{\n    "pattern": "{}",\n    "url": "{}",\n    "seen": ["{}"]\n  }},\n'
    cases = []
    for n, words in enumerate((("one bot", "http://a.b", "x y z"), ("Crawler", "https://c.d/e", "some"), ("G h", "", "I/2 (j)"))):
        text = "[\n" + entry.format("z", "z", "z") + "]\n"
        cases.append(
            Example(f"t{n}", f"Add the {n}th", {"c.json": text}, {"c.json": text.replace("]\n", entry.format(*words) + "]\n")})
        )
    assert list(programs(cases)) == []


def test_different_tasks_are_no_program() -> None:
    cases = [("Do", {"a": f"x {n}\n"}, {"a": t}) for n, t in enumerate(("y\n", "x 0\nx 1\n", "\n"))]
    assert list(programs([Example(f"t{n}", *case) for n, case in enumerate(cases)])) == []


# ---------------------------------------------------------------- the generator


def evidence(task_id: str, request: str, start: Mapping[str, str], end: Mapping[str, str], states_only: bool = False) -> Evidence:
    trees = [Snapshot({p: Entry("file", 0o644, t.encode()) for p, t in texts.items()}) for texts in (start, end)]
    changed = sorted(p for p in {*start, *end} if start.get(p) != end.get(p))
    edits = tuple(Edit(0, p, trees[0].get(p), trees[1].get(p)) for p in changed)
    return Evidence(task_id, request, (), (), None, None, *trees, True, edits=() if states_only else edits)


def releases(states_only: bool = False) -> list[Evidence]:
    versions = ("1.0.0", "1.0.1", "1.1.0", "2.0.0")
    trees = [{"Cargo.toml": FORMS["Cargo.toml"] % (v, ""), "c.py": f'V = "{v}"\n'} for v in versions]
    return [evidence(f"t{n}", f"Release {versions[n + 1]}", a, b, states_only) for n, (a, b) in enumerate(pairwise(trees))]


def generated(traces: Sequence[Evidence]) -> tuple[EmbeddedGenerator, list[str]]:
    embedded = EmbeddedGenerator()
    pattern = TracePattern("repetitive", (), len(traces), 1.0, "release_crate", "s", ())
    return embedded, [c.source for c in embedded.generate(pattern, traces)]


@pytest.mark.parametrize("states_only", [False, True])
def test_recordings_without_commands_become_a_skill(states_only: bool) -> None:
    """One that conforms, with a binding for each recording."""
    embedded = EmbeddedGenerator()
    traces = releases(states_only)
    candidates = list(embedded.generate(TracePattern("repetitive", (), 3, 1.0, "release_crate", "s", ()), traces))
    assert candidates[0].bindings == {"t0": {"version": "1.0.1"}, "t1": {"version": "1.1.0"}, "t2": {"version": "2.0.0"}}
    for result in run_static([parse_subject(candidates[0].source, "release_crate.py")])[0]:
        assert result.verdict is Verdict.PASS, [f.message for f in result.findings]


def test_every_kind_of_edit_conforms() -> None:
    """Blocks, lists, sorted lines, new files, removals: what is written for them passes the static checks."""
    digests = [f"{d}b{d}{d}" * 16 for d in range(8)]
    prose = ["Free text.", "Other text that\n\nis longer.", "More."]
    traces = []
    for n in range(3):
        old, new = f"{n}.0", f"{n + 1}.0"
        start = {
            "log": f"# Log\n\n{old}\n===\n\nNo.\n", "f": f'sha "{digests[2 * n]}"\nsha "{digests[2 * n + 1]}"\n',
            "s": '"a",\n"c",\n"zz"\n',
            f"defs/{old}": f"get {old} of it\n", "p": f"{n} and\n", "t/old.bak": "",
        }  # fmt: skip
        end = {
            **start,
            "log": f"# Log\n\n{new}\n===\n\n{prose[n]}\n\n{old}\n===\n\nNo.\n",
            "f": f'sha "{digests[2 * n + 2]}"\nsha "{digests[2 * n + 3]}"\n', "s": f'"a",\n"b{n}",\n"c",\n"zz"\n',
            f"defs/{new}": f"get {new} of it\n",
        }  # fmt: skip
        traces.append(evidence(f"t{n}", f"Add {new} and b{n}", start, {p: t for p, t in end.items() if p != "t/old.bak"}))
    hooks = "repo: {}\nrev: {}\n"
    updates = [{f"repo{k}": str(v) for k, v in enumerate(row)} for row in ((1, 2, 3), (4, 2, 5), (4, 6, 5), (7, 6, 8))]
    asked = [
        "\n".join(["Update", *(f"{p} from v{a[p]}.1 to v{b[p]}.1" for p in a if a[p] != b[p])]) for a, b in pairwise(updates)
    ]
    trees = [{"c": "".join(hooks.format(p, f"v{v}.1") for p, v in u.items()), "v": f"v = {n}.3\n"} for n, u in enumerate(updates)]
    cycles = [evidence(f"u{n}", asked[n], a, b) for n, (a, b) in enumerate(pairwise(trees))]
    made_ = [source for some in (traces, cycles) for source in generated(some)[1][:1]]
    assert len(made_) == 2
    for results in run_static([parse_subject(source, "release_crate.py") for source in made_]):
        for result in results:
            assert result.verdict is Verdict.PASS, [f.message for f in result.findings]


TEXT = st.text(alphabet="ab1.\n-= \"'{}\\é\r\t", max_size=30)


@settings(max_examples=80)
@given(st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=2, max_size=3))
def test_any_texts_give_code_or_a_reason(rows: list[tuple[str, str, str]]) -> None:
    """Whatever the texts hold: no crash, and what is written is Python."""
    traces = [evidence(f"t{n}", r, {"a": a}, {"a": b}) for n, (r, a, b) in enumerate(rows)]
    embedded, sources = generated(traces)
    for source in sources:
        ast.parse(source)
    assert sources or embedded.why_none()


def test_more_than_texts_is_said() -> None:
    """Links, modes and bytes are no edits of texts."""
    good, link = releases()[0], Snapshot({"l": Entry("symlink", 0o777, b"", "x")})
    for base, post in ((Snapshot(), link), (Snapshot({"b": Entry("file", 0o644, b"\0")}), Snapshot())):
        odd = Evidence("odd", "x", (), (), None, None, base, post, True)
        embedded, sources = generated([good, odd])
        assert not sources
        assert "trace odd" in embedded.why_none()


def test_edits_alone_lead_to_the_end() -> None:
    """A recording whose end is not kept has the one that its edits lead to."""
    e = releases()[0]
    without = Evidence(e.task_id, e.description, (), (), None, None, e.base, None, True, edits=e.edits)
    assert example_of(without) == example_of(e)


# ---------------------------------------------------------------- where values may come from


def test_a_foreign_value_may_be_part_of_what_was_written() -> None:
    """Of a recording without commands; the whole result never is, and with commands nothing of it."""
    one = evidence("t", "Update", {"f": "v 1\nsha 0\n"}, {"f": "v 1\nsha cafe01\n"})
    assert foreign("cafe01", one) == ""
    assert "only in what the trace" in foreign("v 1\nsha cafe01\n", one)
    commanded = Evidence("t", "Update", ("true",), ("",), None, (0,), one.base, one.post, True)
    assert "only in what the trace" in foreign("cafe01", commanded)


def test_what_a_request_names_may_have_a_rest_behind_it() -> None:
    """A place is told by the beginning of its name; the rest may be empty."""
    flow = "- uses: a/cache@{}\n- uses: a/lint@{}\n- uses: a/codeql/init@{}\n"

    def case(name: str, number: int) -> Case:
        pins = [
            {"cache": "c1", "lint": "l1", "codeql": "q1"} | ({name: f"{number}f{number}"} if new else {}) for new in (False, True)
        ]
        old, new = (flow.format(*p.values()) for p in pins)
        return f"Update a/{name} now", {"ci.yml": old}, {"ci.yml": new}

    program = learned(case("cache", 1), case("codeql", 2), case("cache", 3))
    assert bind(program, Example("new", *case("lint", 7))).args is not None
