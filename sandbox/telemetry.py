"""OpenTelemetry spans of what takes time. The one importer of it.

Spans go to the provider of the program that we run in. The command line has one of its own if the environment asks for it with
``OTEL_TRACES_EXPORTER`` or ``OTEL_EXPORTER_OTLP_ENDPOINT``. Otherwise, and without the package, nothing happens at no cost.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import Any, Protocol

Value = str | int | float | bool
NAME = "assay"
EXPORTERS = "opentelemetry_traces_exporter"
"""Group of entry points under which exporters register themselves."""
INSTALL = "python3 -m pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"


class Span(Protocol):
    """What is told of a span here."""

    def set_attribute(self, key: str, value: Value) -> None: ...
    def end(self) -> None: ...


class _NoSpan:
    def set_attribute(self, key: str, value: Value) -> None:
        """Nobody listens."""

    def end(self) -> None:
        """Nobody listens."""


NO_SPAN = _NoSpan()


@contextmanager
def span(name: str, **attributes: Value) -> Iterator[Span]:
    """A span around a block, child of the one around it. Attributes are named ``assay.…``."""
    tracer = _tracer()
    if tracer is None:
        yield NO_SPAN
        return
    with tracer.start_as_current_span(f"{NAME}.{name}", attributes=_named(attributes)) as opened:
        yield opened


def begin(name: str, **attributes: Value) -> Span:
    """A span that is ended by hand; the spans that follow are not its children."""
    tracer = _tracer()
    opened: Span = tracer.start_span(f"{NAME}.{name}", attributes=_named(attributes)) if tracer is not None else NO_SPAN
    return opened


def configure(environ: Mapping[str, str] | None = None) -> str:
    """Sends spans where the environment says. Returns why that cannot be done, or "" (also if nothing is asked for)."""
    env = os.environ if environ is None else environ
    wanted = env.get("OTEL_TRACES_EXPORTER") or ("otlp" if env.get("OTEL_EXPORTER_OTLP_ENDPOINT") else "none")
    if wanted == "none" or env.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return ""
    try:
        exporter = _exporter(wanted)
        trace = importlib.import_module("opentelemetry.trace")
        sdk = importlib.import_module("opentelemetry.sdk.trace")
        batches = importlib.import_module("opentelemetry.sdk.trace.export")
        resources = importlib.import_module("opentelemetry.sdk.resources")
    except ImportError as e:
        return f"no spans are sent: {e}. Install OpenTelemetry with: {INSTALL}"
    if isinstance(trace.get_tracer_provider(), sdk.TracerProvider):
        return ""
    service = env.get("OTEL_SERVICE_NAME", NAME)
    provider = sdk.TracerProvider(resource=resources.Resource.create({"service.name": service}))
    provider.add_span_processor(batches.BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return ""


def _exporter(wanted: str) -> Any:
    """An exporter by the name that it has in ``OTEL_TRACES_EXPORTER``.

    Raises:
        ImportError: there is none of that name.
    """
    if wanted == "console":  # its own default would be stdout, where reports go
        return importlib.import_module("opentelemetry.sdk.trace.export").ConsoleSpanExporter(out=sys.stderr)
    names = ("otlp_proto_http", "otlp_proto_grpc") if wanted == "otlp" else (wanted,)
    for name in names:
        for found in entry_points(group=EXPORTERS, name=name):
            return found.load()()
    raise ImportError(f"no exporter is called {wanted!r}")


def _tracer() -> Any:
    """The tracer, if this program uses OpenTelemetry at all."""
    api = sys.modules.get("opentelemetry.trace")
    return api.get_tracer(NAME) if api is not None else None


def _named(attributes: Mapping[str, Value]) -> dict[str, Value]:
    return {f"{NAME}.{key}": value for key, value in attributes.items()}
