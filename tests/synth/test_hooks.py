"""Reindex hooks: a callable, a command, a URL; a failing one is said and harms nothing."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from factories import draft, report

from synth.registry import Registry
from synth.registry.hooks import HookFailed, command_hook, hook_from, run_hooks
from verifiers.interface import ConfigError


def test_a_command_gets_the_event_on_standard_input(tmp_path: Path) -> None:
    """As JSON, without a shell in between."""
    out = tmp_path / "said $HOME"
    hook = command_hook([sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())", str(out)])
    with Registry(tmp_path / "r", hooks=(hook,)) as registry:
        made = draft()
        entry = registry.register(made, report(made))
    said = json.loads(out.read_text())
    assert (said["event"], said["skill"], said["version"], said["status"]) == (
        "registered",
        "batch_rename",
        entry.version,
        "active",
    )


class _Server(HTTPServer):
    said: list[bytes]


class _Listener(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        self.server.said.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(500 if "bad" in self.path else 204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[_Server]:
    made = _Server(("127.0.0.1", 0), _Listener)
    made.said = []
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def test_a_url_is_posted_to(server: _Server, tmp_path: Path) -> None:
    """The same JSON as a body; an error status is a failed hook."""
    with Registry(tmp_path, hooks=(hook_from(f"http://127.0.0.1:{server.server_port}/reindex"),)) as registry:
        made = draft()
        entry = registry.register(made, report(made))
        assert json.loads(server.said[0])["skill"] == "batch_rename"
        failures = run_hooks([hook_from(f"http://127.0.0.1:{server.server_port}/bad")], "archived", entry)
        assert "500" in failures[0]


@pytest.mark.parametrize(
    "words", [["false"], ["no-such-program-here"], [sys.executable, "-c", "import sys; sys.exit('index is locked')"]]
)
def test_a_failing_hook_does_not_undo_the_registration(tmp_path: Path, words: list[str]) -> None:
    """The change is committed before anybody is told; the failure is a warning that names it."""
    with Registry(tmp_path, hooks=(command_hook(words),)) as registry:
        made = draft()
        with pytest.warns(HookFailed, match="reindex hook failed"):
            registry.register(made, report(made))
        assert len(registry.list()) == 1


def test_a_hook_that_hangs_is_ended(tmp_path: Path) -> None:
    """After its time it has failed."""
    with Registry(tmp_path, hooks=(command_hook(["sleep", "30"], timeout_s=0.2),)) as registry:
        made = draft()
        with pytest.warns(HookFailed, match="timed out"):
            registry.register(made, report(made))


@pytest.mark.parametrize("text", ["", "  ", "echo 'unclosed"])
def test_a_line_that_is_no_hook_is_a_configuration_error(text: str) -> None:
    """Said when the configuration is read, not when the hook would run."""
    with pytest.raises(ConfigError):
        hook_from(text)


def test_who_opens_the_registry_decides_how_failures_are_said(tmp_path: Path) -> None:
    """In words, after the change is done."""
    said: list[str] = []
    with Registry(tmp_path, hooks=(command_hook(["false"]),), on_hook_failure=said.append) as registry:
        made = draft()
        registry.register(made, report(made))
    assert said == ["reindex hook failed: false ended with 1"]
