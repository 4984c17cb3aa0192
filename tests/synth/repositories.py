"""Small repositories with a history, made by git itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HOUR = 3600
EPOCH = 1_600_000_000


@dataclass(slots=True)
class Repository:
    """A working tree in which every commit is an hour later than the one before."""

    path: Path
    commits: int = field(default=0)

    def git(self, *args: str, given: bytes = b"", **more: str) -> str:
        """What a command of git prints."""
        time = f"{EPOCH + self.commits * HOUR} +0200"
        env = {
            "PATH": os.environ["PATH"], "HOME": str(self.path), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_AUTHOR_DATE": time,
            "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org", "GIT_COMMITTER_DATE": time, **more,
        }  # fmt: skip
        done = subprocess.run(["git", *args], cwd=self.path, env=env, input=given, capture_output=True, check=True)
        return done.stdout.decode("utf-8", "replace").strip()

    def commit(self, message: str | bytes, files: Mapping[str, str | bytes | None], **env: str) -> str:
        """Writes the files (None takes one away), commits everything, and returns the commit's id."""
        for name, content in files.items():
            file = self.path / name
            if content is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        self.commits += 1
        text = message.encode() if isinstance(message, str) else message
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", "-", given=text, **env)
        return self.git("rev-parse", "HEAD")


def make(path: Path) -> Repository:
    """An empty repository."""
    path.mkdir(parents=True)
    made = Repository(path)
    made.git("init", "-q", "-b", "main")
    return made


def released(path: Path, times: int = 6) -> Repository:
    """One with a version that is released again and again, and other work between."""
    made = make(path)
    files = {
        "app.toml": 'name = "app"\nversion = "0.0.0"\n',
        "app.py": '__version__ = "0.0.0"\n',
        "NEWS.md": "# News\n",
        "x.py": "x = 0\n",
    }
    made.commit("Begin", files)
    for n in range(1, times + 1):
        made.commit(f"Make x {'better' * n}", {"x.py": f"x = {n}\ny = x * {n}\n" + f"# {n}\n" * n})
        made.commit(
            f"Release 0.{n}.0", {"app.toml": f'name = "app"\nversion = "0.{n}.0"\n', "app.py": f'__version__ = "0.{n}.0"\n'}
        )
    return made
