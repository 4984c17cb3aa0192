"""``assay mcp``: verification and the registered skills, for an agent host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli.home import config, registry_dir, registry_option
from synth.cli.settings import Judging, sandbox_options

if TYPE_CHECKING:
    from synth.interface import RegistryEntry


@click.command("mcp", short_help="Offer verification to an agent host over MCP.")
@registry_option
@click.option("--no-skills", is_flag=True, help="Offer verify, gate, route and show only.")
@sandbox_options
def command(registry: Path | None, no_skills: bool, **rest: Any) -> int:
    """Serves on standard input and output until the host hangs up. Needs the extra `mcp` of this package."""
    from verifiers.interface import ConfigError

    try:
        from synth.mcp_server import Services, serve
    except ModuleNotFoundError as e:
        raise ConfigError(f"{e.name} is not installed", "Install it with: python3 -m pip install mcp") from e
    offered = Offered(Judging.of(rest, config()))
    serve(Services(registry_dir(registry), offered.verify, offered.gate, None if no_skills else offered.run))
    return 0


class Offered:
    """What the server's tools do, with the settings of the command line."""

    def __init__(self, judging: Judging) -> None:
        self.judging = judging

    def verify(self, path: Path) -> dict[str, Any]:
        """``assay-report/1`` of a skill file or draft directory."""
        from synth.cli.targets import target_of
        from synth.cli.verifying import Verifier
        from verifiers.formats.json_report import report_to_json
        from verifiers.gating.cache import open_cache

        with Verifier(self.judging, open_cache()) as verifier:
            return dict(report_to_json(verifier.report(target_of(path))))

    def gate(self, paths: Sequence[Path]) -> dict[str, Any]:
        """``assay-gate/1`` of directories."""
        from synth.cli.gate import gate, policy_of
        from verifiers.gating.gate import gate_to_json

        return dict(gate_to_json(gate(paths, self.judging, policy_of(None, config(*paths)))))

    def run(self, entry: RegistryEntry, args: Mapping[str, Any], workspace: Path, apply: bool) -> dict[str, Any]:
        """``assay-run/1`` of a registered skill."""
        from synth.cli.run import run_skill
        from synth.draft import SKILL

        source = (Path(entry.path) / SKILL).read_text(encoding="utf-8")
        document, _ = run_skill(source, args, workspace, self.judging, apply_=apply)
        return document
