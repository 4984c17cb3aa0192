"""A member of an archive is not what its checksum says: the commands fail, and success is a lie for whoever goes by it."""

from __future__ import annotations

import base64
import gzip
import io
import json
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from records import file, record

from sandbox import open_sandbox
from sandbox.interface import Sandbox
from verifiers.evidence import load_evidence
from verifiers.interface import Binding, Report, Verdict
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify
from verifiers.worlds.packed import damaged

PACKS = {"may.zip": "rent=100.00\n", "june.zip": "gas=82.50\nrent=110.00\n", "july.zip": "water=14.20\n"}
SKILL = '''
import struct
import zipfile
import zlib
from pathlib import Path

from skill_api import Query, skill_command


@skill_command(autowire=True)
def take_out(
    pack: str = Query(..., description="The archive"),
    target: str = Query(..., description="The file to write"),
) -> dict:
    """Write the sums of an archive to a file.

    Args:
        pack: The archive.
        target: The file to write.

    Returns:
        ok
    """
    with zipfile.ZipFile(pack) as z:
        info = z.getinfo("sums.txt")
        whole = Path(pack).read_bytes()
        names = struct.unpack_from("<HH", whole, info.header_offset + 26)
        start = info.header_offset + 30 + sum(names)
        body = whole[start : start + info.compress_size]
        data = READ
    Path(target).write_bytes(data)
    return {"ok": True}
'''
CHECKED, UNCHECKED = "z.read(info)", "zlib.decompress(body, -15) if info.compress_type == zipfile.ZIP_DEFLATED else body"


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in files.items():
            z.writestr(name, data)
    return out.getvalue()


def test_each_member_is_another_one_under_its_old_checksum() -> None:
    """Only the checksum tells: the names, and what can be unpacked, are as they were."""
    data = damaged(zipped({"a": b"100\n", "b/c": b"200\n", "empty": b""}))
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        assert z.namelist() == ["a", "b/c", "empty"]
        assert z.testzip() == "a"
        with pytest.raises(zipfile.BadZipFile, match="CRC"):
            z.read("b/c")
        assert z.read("empty") == b""


def test_a_compressed_file_too() -> None:
    data = damaged(gzip.compress(b"100\n"))
    with pytest.raises(gzip.BadGzipFile, match="CRC"):
        gzip.decompress(data)
    assert zlib.decompressobj(-15).decompress(data[10:]) == b"10\x31\n"


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_what_keeps_no_checksum_of_a_member_stays(mode: str) -> None:
    """Careful readers of a packed tar stop before the end of the stream."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as t:  # type: ignore[call-overload]  # one of the modes above
        t.addfile(tarfile.TarInfo("a"))
    assert damaged(out.getvalue()) == out.getvalue()
    assert damaged(b"no archive") == b"no archive"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox() as box:
        yield box


def judged(folder: Path, sandbox: Sandbox, read: str, command: str = "unzip -p PACK sums.txt > TARGET") -> Report:
    rows, bindings = [], {}
    for pack, sums in PACKS.items():
        target = f"{pack[:-4]}.txt"
        content = base64.b64encode(zipped({"readme": b"Sums.\n", "sums.txt": sums.encode()})).decode()
        before = {pack: {"type": "file", "mode": "0644", "content_b64": content}}
        about = {"task_id": pack, "task_description": f"the sums of {pack} in {target}", "exit_codes": [0]}
        row = record(**about, workspace=before, post_workspace={**before, target: file(sums)})
        row |= {"commands": [command.replace("PACK", pack).replace("TARGET", target)], "outputs": [""]}
        rows.append({k: v for k, v in row.items() if k != "steps"})
        bindings[pack] = Binding(pack, {"pack": pack, "target": target})
    (folder / "evidence.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    evidence = load_evidence(folder / "evidence.jsonl")
    options = Options(budget="fast", checks=frozenset({"generalises"}))
    subject = parse_subject(SKILL.replace("READ", read), Path("skill.py"))
    return verify(subject, evidence, bindings, sandbox=sandbox, options=options)


@pytest.mark.engine
def test_who_goes_by_what_is_damaged_is_refused(tmp_path: Path, sandbox: Sandbox) -> None:
    report = judged(tmp_path, sandbox, UNCHECKED)
    assert report.verdict is Verdict.FAIL
    assert "does not match its checksum" in report.why


@pytest.mark.engine
def test_who_reports_the_damage_is_right(tmp_path: Path, sandbox: Sandbox) -> None:
    report = judged(tmp_path, sandbox, CHECKED)
    assert report.verdict is Verdict.PASS, report.why


@pytest.mark.engine
def test_a_pipeline_that_ends_well_has_complained(tmp_path: Path, sandbox: Sandbox) -> None:
    """The last of its programs knows nothing of the archive."""
    report = judged(tmp_path, sandbox, UNCHECKED, "unzip -p PACK sums.txt | cat > TARGET")
    assert report.verdict is Verdict.FAIL
    assert "does not match its checksum" in report.why
