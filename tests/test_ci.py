"""What CI makes beside the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

MAKE = Path(__file__).parents[1] / ".ci" / "frameworks" / "make"


def test_an_environment_that_cannot_be_made_is_said_and_stops_no_other(tmp_path: Path) -> None:
    """Why is in its state; one that is there in its versions is kept, in other versions it is made anew."""
    make, envs = tmp_path / "make", tmp_path / "envs"
    shutil.copy(MAKE, make)
    (tmp_path / "absent.txt").write_text("no-such-thing==1\n")
    (tmp_path / "bare.txt").write_text("# nothing\n")

    def made(*names: str) -> list[str]:
        env = {**os.environ, "PIP_NO_INDEX": "1"}
        subprocess.run([make, envs, *names], env=env, check=True, timeout=200)
        return [(envs / f"{name}.state").read_text() for name in names]

    failed, there = made("absent", "bare")
    assert failed.startswith("could not be installed: ERROR: No matching distribution found for no-such-thing")
    assert there == "made\n"
    (envs / "bare" / "kept").touch()
    assert made("bare") == [there]
    assert (envs / "bare" / "kept").exists()
    (tmp_path / "bare.txt").write_text("# other versions\n")
    assert made("bare") == [there]
    assert not (envs / "bare" / "kept").exists()
