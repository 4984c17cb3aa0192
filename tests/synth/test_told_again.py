"""Names and descriptions of a candidate from the requests of all recordings."""

from __future__ import annotations

from synth.embedded.naming import told_again
from synth.interface import Candidate
from verifiers.interface import Args, Evidence

SOURCE = '''"""In <file> bitte auch mit Python <text> testen."""

from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
async def matrix_version(
    text: str = Query(..., description="The text to put in"),
    file: str = Query(..., description="File to work on"),
) -> dict[str, object]:
    """In <file> bitte auch mit Python <text> testen."""
    Path(file).write_text(text)
    return {"ok": True}
'''
REQUESTS = {
    "t1": ("In ci/a.yml bitte auch mit Python 3.13 testen.", {"text": "3.13", "file": "ci/a.yml"}),
    "t2": ("Add python 3.12 to the matrix in b.yml", {"text": "3.12", "file": "b.yml"}),
}


def of_one() -> tuple[Candidate, list[Evidence], dict[str, Args]]:
    told = "In <file> bitte auch mit Python <text> testen."
    candidate = Candidate("matrix_version", SOURCE, {"t1": REQUESTS["t1"][1]}, told, "embedded/1")
    evidence = [Evidence(t, said, ("true",), ("",), None, None, None, None, True) for t, (said, _) in REQUESTS.items()]
    return candidate, evidence, {t: args for t, (_, args) in REQUESTS.items()}


def test_a_candidate_is_called_as_all_requests_call_it() -> None:
    """Once the arguments of the others are known: name, description and parameters, the bindings along; the code stays."""
    candidate, evidence, bindings = of_one()
    told, renamed = told_again(candidate, evidence, bindings, "matrix_version", answers=False)
    assert told.description == "Add python <python> to the matrix in <file>"
    assert told.name == "add_python"
    assert set(told.bindings) == {"t1"}
    assert renamed == {t: {"python": args["text"], "file": args["file"]} for t, args in bindings.items()}
    assert "Path(file).write_text(python)" in told.source


def test_without_more_recordings_it_stays_as_it_is() -> None:
    candidate, evidence, bindings = of_one()
    assert told_again(candidate, evidence[:1], bindings, "matrix_version", answers=False) == (candidate, bindings)
