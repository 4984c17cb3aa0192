"""Cached verdicts: equal to fresh ones, or not there at all."""

from __future__ import annotations

import dataclasses
import json
import re
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifiers.formats import render
from verifiers.formats.json_report import report_from_json
from verifiers.gating.cache import Key, VerdictCache, open_cache
from verifiers.interface import Report

GOLDEN = Path(__file__).parent.parent / "golden" / "reports"
KEY = Key(
    path="a/skill.py", code="c0de", evidence="e51d", bindings="b1d", profile="seed", budget="standard", seed=None, salt="",
    checks={"contained": 1}, tools={"ruff": "0.8"}, inventory="1ab5", probes={"nu": True}, options={"all": False},
)  # fmt: skip


def load(name: str) -> Report:
    return report_from_json(json.loads((GOLDEN / f"{name}.json").read_text()))


@pytest.fixture
def cache(tmp_path: Path) -> VerdictCache:
    return VerdictCache(tmp_path / "cache")


@pytest.mark.parametrize("name", ["passing", "failing", "inconclusive", "partial"])
def test_a_cached_report_is_the_fresh_one(cache: VerdictCache, name: str) -> None:
    """Equal as a value and byte for byte in every format, but that one says so where the time would stand."""
    fresh = load(name)
    assert cache.get(KEY) is None
    assert cache.put(KEY, fresh)
    cached = cache.get(KEY)
    assert cached == fresh
    for format in ("json", "plain", "sarif", "html"):
        known, told = (render([r], format, titles={}, sources={}) for r in (cached, fresh))
        assert known == re.sub(r"runs, [0-9.]+ s\)", "runs, cached)", told)


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(Key)])
def test_every_part_of_the_key_counts(cache: VerdictCache, field: str) -> None:
    """Another skill, evidence, seed, tool, image or option is another verdict."""
    cache.put(KEY, load("passing"))
    old = getattr(KEY, field)
    new = {**old, "x": 1} if isinstance(old, dict) else 7 if old is None else f"{old}x"
    other = dataclasses.replace(KEY, **{field: new})
    assert other.digest != KEY.digest
    assert cache.get(other) is None


def test_order_of_mappings_does_not_count() -> None:
    """The same versions in another order are the same key."""
    a = dataclasses.replace(KEY, tools={"ruff": "1", "mypy": "2"})
    b = dataclasses.replace(KEY, tools={"mypy": "2", "ruff": "1"})
    assert a.digest == b.digest


def only_file(cache: VerdictCache) -> Path:
    (file,) = [p for p in cache.directory.rglob("*") if p.is_file()]
    return file


@given(st.integers(0, 10**6), st.integers(0, 255))
def test_damage_is_a_miss(position: int, byte: int) -> None:
    """One changed byte anywhere: not believed."""
    with tempfile.TemporaryDirectory() as folder:
        cache = VerdictCache(Path(folder))
        cache.put(KEY, load("partial"))
        file = only_file(cache)
        data = bytearray(file.read_bytes())
        at = position % len(data)
        changed = data[at] != byte
        data[at] = byte
        file.write_bytes(data)
        assert (cache.get(KEY) is None) == changed


@pytest.mark.parametrize("data", [b"", b"\n", b"assay-cache/1 x y\n{}", b"{" * 100_000, b"\xff\xfe"])
def test_foreign_files_are_a_miss(cache: VerdictCache, data: bytes) -> None:
    """Whatever lies there, no exception."""
    cache.put(KEY, load("passing"))
    only_file(cache).write_bytes(data)
    assert cache.get(KEY) is None


def test_an_entry_of_another_key_is_a_miss(cache: VerdictCache) -> None:
    """An entry copied to another key's place is not believed."""
    cache.put(KEY, load("passing"))
    other = dataclasses.replace(KEY, code="0ther")
    place = cache.directory / other.digest[:2] / f"{other.digest[2:]}.json"
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(only_file(cache).read_bytes())
    assert cache.get(other) is None


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    """A file where the directory should be: False, not an exception."""
    (tmp_path / "cache").write_text("a file")
    cache = VerdictCache(tmp_path / "cache")
    assert not cache.put(KEY, load("passing"))
    assert cache.get(KEY) is None


def test_two_writers_leave_a_whole_entry(cache: VerdictCache) -> None:
    """Entries are put in place whole; nothing is left beside them."""
    report = load("passing")
    writers = [threading.Thread(target=lambda: [cache.put(KEY, report) for _ in range(20)]) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert cache.get(KEY) == report
    only_file(cache)


@pytest.mark.parametrize(
    ("environ", "trusted", "readable"),
    [({}, False, True), ({"CI": "true"}, False, False), ({"CI": "true"}, True, True), ({"CI": "false"}, False, True)],
)
def test_ci_does_not_believe_the_cache(tmp_path: Path, environ: dict[str, str], trusted: bool, readable: bool) -> None:
    """In CI it is written but not read, unless the policy trusts it."""
    cache = open_cache(tmp_path, trusted=trusted, environ=environ)
    cache.put(KEY, load("passing"))
    assert (cache.get(KEY) is not None) == readable


def test_where_it_lies(tmp_path: Path) -> None:
    """``$ASSAY_CACHE``, else the user's cache directory."""
    assert open_cache(environ={"ASSAY_CACHE": str(tmp_path)}).directory == tmp_path
    assert open_cache(environ={}).directory.name == "verdicts"
