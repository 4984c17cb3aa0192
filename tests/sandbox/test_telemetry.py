"""Spans: where they go, and that they cost nothing where nobody asked for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sandbox import open_sandbox, telemetry
from sandbox.interface import RunRequest, ShellJob, Snapshot
from verifiers.subject import parse_subject
from verifiers.verify import Options, verify

SOURCE = '"""Does nothing."""\n'


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What is exported while a test runs."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_tracer", lambda: provider.get_tracer("assay"))
    yield exporter
    provider.shutdown()


def test_verification_and_checks(spans: InMemorySpanExporter) -> None:
    """A check's span lies in its verification's, and both say what came out."""
    report = verify(parse_subject(SOURCE, "x.py"), [], None, options=Options(static_only=True, checks=frozenset({"parses"})))
    check, whole = spans.get_finished_spans()
    assert (check.name, whole.name) == ("assay.check", "assay.verification")
    assert check.parent is not None
    assert whole.context is not None
    assert check.parent.span_id == whole.context.span_id
    assert dict(whole.attributes or {}) == {
        "assay.skill": "x", "assay.path": "x.py", "assay.sha256": report.sha256, "assay.verdict": report.verdict.name,
    }  # fmt: skip


@pytest.mark.engine
def test_sandbox_session(spans: InMemorySpanExporter) -> None:
    """A session's span lasts until it is closed, and counts its runs."""
    with open_sandbox(workers=1) as box, box.session("skill x") as session:
        session.run(RunRequest(ShellJob(("true",)), Snapshot()))
        assert spans.get_finished_spans() == ()
    (span,) = spans.get_finished_spans()
    assert span.name == "assay.sandbox.session"
    expected = {
        "assay.subject": "skill x", "assay.workers": 1, "assay.runs": 1, "assay.containers_replaced": 0,
        "assay.runs_repeated": 0, "assay.runs_that_came_out_otherwise": 0,
    }  # fmt: skip
    assert dict(span.attributes or {}) == expected


def fresh(code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs code in another process, because a provider is set once for all."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")} | environ
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)


def test_nothing_happens_unasked() -> None:
    """Without OpenTelemetry in the program spans are empty, and nothing of it is loaded."""
    code = (
        "import sys\nfrom sandbox import telemetry\nassert telemetry.configure() == ''\n"
        "with telemetry.span('x', y=1) as s: s.set_attribute('z', 2)\ntelemetry.begin('x').end()\n"
        "assert not [m for m in sys.modules if m.startswith('opentelemetry')]\n"
    )
    assert fresh(code).stderr == ""


def test_the_environment_configures() -> None:
    """The standard variables choose the exporter; the console's writes to stderr, where reports do not go."""
    code = "from sandbox import telemetry\nassert telemetry.configure() == ''\nwith telemetry.span('x', y=1): pass\n"
    done = fresh(code, OTEL_TRACES_EXPORTER="console", OTEL_SERVICE_NAME="ci")
    said = json.loads(done.stderr)
    assert (said["name"], said["attributes"], done.stdout) == ("assay.x", {"assay.y": 1}, "")
    assert said["resource"]["attributes"]["service.name"] == "ci"


def test_the_hosts_provider_is_kept() -> None:
    """Configuring twice, or in a program that has a provider, changes nothing."""
    code = (
        "from opentelemetry import trace\nfrom opentelemetry.sdk.trace import TracerProvider\nfrom sandbox import telemetry\n"
        "mine = TracerProvider()\ntrace.set_tracer_provider(mine)\nassert telemetry.configure() == ''\n"
        "assert trace.get_tracer_provider() is mine\n"
    )
    fresh(code, OTEL_TRACES_EXPORTER="console")


def test_what_cannot_be_configured_is_said() -> None:
    """An unknown exporter, or a missing package, is a sentence and not a crash."""
    assert "no exporter is called 'pigeon'" in telemetry.configure({"OTEL_TRACES_EXPORTER": "pigeon"})
    assert telemetry.configure({"OTEL_TRACES_EXPORTER": "none"}) == ""
    assert telemetry.configure({"OTEL_TRACES_EXPORTER": "pigeon", "OTEL_SDK_DISABLED": "true"}) == ""
