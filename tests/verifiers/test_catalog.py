"""The catalog holds every check once, and the manual is made from it."""

from __future__ import annotations

import pkgutil

import pytest

from verifiers import checks
from verifiers.catalog import CATALOG, DYNAMIC, ORDER, STATIC, by_id
from verifiers.conventions import RULES
from verifiers.interface import CheckPage, ConfigError
from verifiers.manual import explain, render_manual
from verifiers.source import static


def test_every_file_is_a_check() -> None:
    """One check a file, named after its id."""
    files = {m.name for m in pkgutil.iter_modules(checks.__path__) if not m.name.startswith("_")}
    assert {c.id.replace("-", "_") for c in CATALOG} == files


def test_catalog_is_whole_and_ordered() -> None:
    """Static ones first, in the written order, each id once."""
    ids = [c.id for c in CATALOG]
    assert ids == [i for i in ORDER if i in ids]
    assert [*STATIC, *DYNAMIC] == list(CATALOG)
    assert list(STATIC) == list(static.STATIC)


@pytest.mark.parametrize("check", CATALOG, ids=lambda c: c.id)
def test_a_check_says_what_it_asks(check: CheckPage) -> None:
    """CheckPage, reason and version are there."""
    assert check.title.endswith("?")
    assert len(check.why) > 60
    assert check.version >= 1


def test_by_id() -> None:
    """A check is found by its id."""
    parses = by_id("parses")
    assert parses is not None
    assert parses.id == "parses"
    assert by_id("nonsense") is None


def test_manual_has_every_check_rule_and_module() -> None:
    """Checks, conventions and the import list are all in the manual."""
    text = render_manual()
    for id in [*(c.id for c in CATALOG), *(r.id for r in RULES)]:
        assert f"# {id}\n" in text
    assert "`pathlib`" in text
    assert text.count("```") % 2 == 0


def test_explain_is_the_manuals_entry() -> None:
    """What explain says is what the manual says."""
    text = render_manual()
    for id in ("parses", "conventions-shell-text"):
        assert explain(id).split("\n", 1)[1].strip() in text


def test_explain_names_the_nearest() -> None:
    """A misspelt id is answered with the ones that are near."""
    with pytest.raises(ConfigError, match="idempotent") as caught:
        explain("idempotent")
    assert "idempotent-replay" in caught.value.advice
    with pytest.raises(ConfigError) as caught:
        explain("???")
    assert caught.value.advice == "List them with: assay verify --explain"
