"""What a host can read: registered skills as ``skill://`` documents, their reports, the manual. And prompts to begin with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial

import mcp_types as types

from synth.export.agentskills import description_of, kebab
from synth.export.document import skill_md
from synth.export.source import Skill, skill_of
from synth.registry import Registry
from verifiers.interface import ConfigError
from verifiers.source.agent_text import MAX_DOCSTRING, for_agent

MANUAL = "assay://manual"
_SKILL, _REPORT = "skill://{}/SKILL.md", "assay://report/{}"

PROMPTS = {
    "use_a_skill": (
        "Do a task with a registered skill, if one fits",
        "Find out with assay_route whether a registered skill fits this task: {task}\n\nIf one is expected to succeed, call its "
        "skill_ tool on the directory and look at what it says it changed. If none fits, do the task yourself.",
    ),
    "learn_a_skill": (
        "Do a task so that it becomes a skill once it was done often enough",
        "Do this task with assay_record, one call with all its commands, so that it is kept: {task}\n\nAfter three "
        "recordings of one task call assay_learn. What it registers waits for a person: show them the command in the answer.",
    ),
}
"""Name -> what it is for, and its text."""


def resources(registry: Registry) -> list[types.Resource]:
    """One document and one report for each active skill, and the manual."""
    found = [types.Resource(name="manual", uri=MANUAL, description="What each check asks, and why", mime_type="text/markdown")]
    for entry in registry.list():
        told = for_agent(entry.description)
        name = kebab(entry.name)
        found.append(types.Resource(name=name, uri=_SKILL.format(name), description=told, mime_type="text/markdown"))
        text = f"The verification report of {entry.name}"
        uri = _REPORT.format(entry.name)
        found.append(types.Resource(name=f"{name}-report", uri=uri, description=text, mime_type="application/json"))
    return found


def read(registry: Registry, uri: str) -> types.TextResourceContents:
    """The resource at an address.

    Raises:
        ConfigError: there is none.
        AssayError: its skill cannot be read, or was changed.
    """
    readers: dict[str, Callable[[], tuple[str, str]]] = {MANUAL: _manual}
    for entry in registry.list():
        readers[_SKILL.format(kebab(entry.name))] = partial(_skill, registry, entry.name)
        readers[_REPORT.format(entry.name)] = partial(_report, registry, entry.name)
    if uri not in readers:
        raise ConfigError("there is no such resource", "See resources/list", uri)
    mime_type, text = readers[uri]()
    return types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)


def _manual() -> tuple[str, str]:
    from verifiers.manual import render_manual

    return "text/markdown", render_manual()


def _report(registry: Registry, name: str) -> tuple[str, str]:
    return "application/json", json.dumps(registry.report(name), sort_keys=True)


def _skill(registry: Registry, name: str) -> tuple[str, str]:
    skill = skill_of(registry, name)
    fields = {"name": kebab(name), "description": for_agent(description_of(skill))}
    return "text/markdown", for_agent(skill_md(skill, fields, _usage(skill)), MAX_DOCSTRING)


def _usage(skill: Skill) -> str:
    return f"Call the tool `skill_{skill.entry.name}` with the directory that it should work on and the parameters below."


def prompt(name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """A prompt with its task filled in.

    Raises:
        ConfigError: there is none of that name, or its task is not said.
    """
    if name not in PROMPTS:
        raise ConfigError(f"there is no prompt {name!r}", f"There are: {', '.join(PROMPTS)}")
    if not arguments.get("task", "").strip():
        raise ConfigError("the task is not said", "Give the argument 'task'", name)
    about, text = PROMPTS[name]
    content = types.TextContent(type="text", text=text.format(task=arguments["task"]))
    return types.GetPromptResult(description=about, messages=[types.PromptMessage(role="user", content=content)])


def prompts(learning: bool) -> list[types.Prompt]:
    """The prompts that can be followed with the tools that are offered."""
    task = types.PromptArgument(name="task", description="What is to be done", required=True)
    names = [name for name in PROMPTS if learning or name != "learn_a_skill"]
    return [types.Prompt(name=name, description=PROMPTS[name][0], arguments=[task]) for name in names]
