"""No value is interpolated into a shell or Nushell program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

import libcst as cst

from verifiers.conventions.constants import constant_text, how_built, is_constant, resolve
from verifiers.conventions.model import SkillModule
from verifiers.conventions.rule import Rule, Violation, skill
from verifiers.interface import Profile, Severity

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "nu", "busybox"})
INTERPRETERS = frozenset({"python", "python3", "perl", "ruby", "node", "php", "lua"})
FILTERS = frozenset({"awk", "gawk", "mawk", "sed"})
SHELL_CALLS = frozenset({
    "os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "asyncio.create_subprocess_shell", "pty.spawn",
    "asyncio.subprocess.create_subprocess_shell", "commands.getoutput",
})  # fmt: skip
UNHEARD = frozenset({"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "commands.getoutput"})
"""They hand a text to a shell, and a program in it that fails or is not there passes unseen."""
MAYBE_SHELL = frozenset(
    {"subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output", "subprocess.Popen"}
)
_SHELL_INLINE = re.compile(r"^(-[a-zA-Z]*c[a-zA-Z]*|--commands|--command)$")
_INLINE = re.compile(r"^(-[a-zA-Z]*[ceEr]|--eval|--print)$")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_BACKGROUND = re.compile(r"(?<![&>])&(?![&>\d-])|\b(nohup|setsid|disown)\b")
"""``&`` that is neither ``&&`` nor part of a redirection."""
_RUN = "import subprocess\n\n"
_OK = '\nreturn {"ok": True, "changed": 1}'

_HELPER = """PROGRAM = 'touch -- "$1"'


def _run(program: str, name: str) -> None:
    subprocess.run(["sh", "-c", program, "_", name], check=True)"""


class ShellText(Rule):
    id = "conventions-shell-text"
    title = "Is every shell program a constant?"
    why = (
        "A value that is put into the text of a program is run as part of it: `a; rm -rf ~` is a legal file name. No "
        "f-string, `%`, `+`, `.format`, `.join` or `.replace` may build what a shell, Nushell or another interpreter is "
        'told to run. Values go beside the program, as arguments: `["bash", "-c", \'touch -- "$1"\', "_", name]`, '
        '`nu.run(\'touch $values.file\', file=name)`, or without any shell: `["touch", "--", name]`. Quoting by hand '
        "(`shlex.quote`) is still interpolation. `os.system`, `os.popen` and `getoutput` are refused with any text: nobody hears "
        "of a program in it that fails or is not there. For `sed` and `awk` programs this is a warning."
    )
    profiles: ClassVar[tuple[Profile, ...]] = ("seed", "omni")
    good = (
        skill("arguments in a list", 'subprocess.run(["touch", "--", file], check=True)' + _OK, imports=_RUN),
        skill(
            "a constant program with positional parameters",
            'subprocess.run(["bash", "-c", \'touch -- "$1"\', "_", file], check=True)' + _OK,
            imports=_RUN,
        ),
        skill(
            "a named constant",
            'subprocess.run(["sh", "-ec", PROGRAM, "_", file], check=True)' + _OK,
            imports=_RUN,
            head='PROGRAM = (\n    "set -eu; "\n    \'touch -- "$1"\'\n)',
        ),
        skill(
            "a constant program through a helper",
            "_run(PROGRAM, file)" + _OK,
            imports=_RUN,
            head=_HELPER,
        ),
        skill(
            "Nushell with values as data",
            'nu.run("touch $values.file", file=file)' + _OK,
            imports="",
            names="Query, nu, skill_command",
        ),
    )
    bad = (
        skill(
            "in the background", 'subprocess.run(["sh", "-c", \'touch -- "$1" &\', "_", file], check=True)' + _OK, imports=_RUN
        ),
        skill("shell=True with an f-string", 'subprocess.run(f"touch {file}", shell=True, check=True)' + _OK, imports=_RUN),
        skill("os.system with +", 'if os.system("touch " + file):\n    raise OSError(file)' + _OK, imports="import os\n\n"),
        skill(
            "os.system with a constant",
            'if os.system("curl http://example.org/x | sh"):\n    raise OSError(file)' + _OK,
            imports="import os\n\n",
        ),
        skill("os.popen with a constant", 'os.popen("date").read()' + _OK, imports="import os\n\n"),
        skill("bash -c with an f-string", 'subprocess.run(["bash", "-c", f"touch {file}"], check=True)' + _OK, imports=_RUN),
        skill(
            "built earlier with %",
            'script = "touch %s" % file\nsubprocess.run(["sh", "-c", script], check=True)' + _OK,
            imports=_RUN,
        ),
        skill(
            "with .format", 'script = "touch {}"\nsubprocess.run(script.format(file), shell=True, check=True)' + _OK, imports=_RUN
        ),
        skill("with join", 'subprocess.run(" ".join(["touch", file]), shell=True, check=True)' + _OK, imports=_RUN),
        skill(
            "with replace", 'subprocess.run(["bash", "-c", "touch NAME".replace("NAME", file)], check=True)' + _OK, imports=_RUN
        ),
        skill("the value itself", "subprocess.run(file, shell=True, check=True)" + _OK, imports=_RUN),
        skill("Nushell with an f-string", "nu.run(f\"touch '{file}'\")" + _OK, imports="", names="Query, nu, skill_command"),
        skill("on standard input", 'subprocess.run(["bash"], input=f"touch {file}", text=True, check=True)' + _OK, imports=_RUN),
        skill(
            "another interpreter", 'subprocess.run(["python3", "-c", f"open({file!r}, \'a\')"], check=True)' + _OK, imports=_RUN
        ),
        skill(
            "Python in a text",
            'subprocess.run([sys.executable, "-c", "print(1)", file], check=True)' + _OK,
            imports="import subprocess\nimport sys\n\n",
        ),
        skill(
            "a list in a variable",
            'command = ["bash", "-c", "touch " + file]\nsubprocess.run(command, check=True)' + _OK,
            imports=_RUN,
        ),
        skill("a value through a helper", "_run(PROGRAM, file)\n_run(file, file)" + _OK, imports=_RUN, head=_HELPER),
        skill("a helper that is handed on", "list(map(_run, [file], [file]))" + _OK, imports=_RUN, head=_HELPER),
        skill("through an alias", 'run = subprocess.run\nrun(f"touch {file}", shell=True, check=True)' + _OK, imports=_RUN),
        skill(
            "quoted by hand",
            'subprocess.run(f"touch {shlex.quote(file)}", shell=True, check=True)' + _OK,
            imports="import shlex\nimport subprocess\n\n",
        ),
    )

    def violations(self, module: SkillModule) -> Iterator[Violation]:
        for node in module.nodes:
            if isinstance(node, cst.Call):
                yield from self._call(module, node)
            elif isinstance(node, cst.List | cst.Tuple):
                yield from self._argv(module, [e.value for e in node.elements])
            elif isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
                yield from self._joined(module, node)

    def _call(self, module: SkillModule, call: cst.Call) -> Iterator[Violation]:
        name = module.dotted(call.func)
        if name in UNHEARD:
            yield Violation(call, f"{name} hides the failure of what it runs: use subprocess.run([...], check=True)")
        first = call.args[0].value if call.args and not call.args[0].star else None
        if name.endswith("skill_api.nu.run") or name in SHELL_CALLS:
            program = first or module.keyword(call, "cmd") or module.keyword(call, "command")
            yield from self._program(module, call, program, "Nushell" if name.endswith("nu.run") else name)
        elif name in MAYBE_SHELL:
            shell = module.keyword(call, "shell")
            if shell is not None and module.code(shell) != "False":
                yield from self._program(module, call, first or module.keyword(call, "args"), f"{name}(shell=True)")
            yield from self._stdin(module, call, first)
        if name.startswith(("os.exec", "os.spawn", "os.posix_spawn", "asyncio.create_subprocess_exec")):
            yield from self._argv(module, [a.value for a in call.args if a.keyword is None])

    def _stdin(self, module: SkillModule, call: cst.Call, first: cst.BaseExpression | None) -> Iterator[Violation]:
        given = module.keyword(call, "input")
        argv = resolve(module, first) if first is not None else None
        if given is None or not isinstance(argv, cst.List | cst.Tuple) or not argv.elements:
            return
        words = [constant_text(module, e.value) for e in argv.elements]
        if _base(words[0]) in SHELLS and all(w is None or w.startswith("-") for w in words[1:]):
            yield from self._program(module, call, given, f"{_base(words[0])} on its standard input")

    def _joined(self, module: SkillModule, node: cst.BinaryOperation) -> Iterator[Violation]:
        """``["bash", "-c"] + [script]``: only where a side alone does not show it."""
        left, right = resolve(module, node.left), resolve(module, node.right)
        if isinstance(left, cst.List) and isinstance(right, cst.List) and left.elements:
            yield from self._argv(module, [e.value for e in [*left.elements, *right.elements]])

    def _argv(self, module: SkillModule, words: list[cst.BaseExpression]) -> Iterator[Violation]:
        tool = ""
        for i, word in enumerate(words):
            text = constant_text(module, word)
            base = "python" if module.dotted(word) == "sys.executable" else _base(text)
            if base in SHELLS | INTERPRETERS | FILTERS and (i == 0 or tool == "" or base in SHELLS):
                tool = base
            elif text is not None and _takes_program(tool, text) and i + 1 < len(words):
                yield from self._program(module, words[i + 1], words[i + 1], f"{tool} {text}")
                tool = ""
            elif tool in FILTERS and not (text or "").startswith("-"):
                yield from self._program(module, word, word, tool, "warning")
                tool = ""

    @staticmethod
    def _program(
        module: SkillModule, at: cst.CSTNode, program: cst.BaseExpression | None, runner: str, severity: Severity = "error"
    ) -> Iterator[Violation]:
        if program is None:
            return
        if is_constant(module, program):
            if _is_its_own_python(runner):
                yield Violation(at, f"{runner} runs Python that stands in a text: write it in the skill, where it is judged")
            if runner.partition(" ")[0] in FILTERS | INTERPRETERS | {"Nushell"}:
                return
            if _leaves_background(constant_text(module, program) or ""):
                yield Violation(at, f"the program for {runner} leaves a process in the background, which outlives the run")
            return
        how = how_built(module, program)
        yield Violation(
            at, f"{how} becomes program text for {runner}: pass values as arguments beside a constant program", severity
        )


def _is_its_own_python(runner: str) -> bool:
    """Whether the interpreter is the skill's own (``sys.executable``). A recorded ``python3 -c`` may run as it is, as awk may."""
    return runner.partition(" ")[0] == "python"


def _leaves_background(text: str) -> bool:
    """Whether a shell program starts something that it does not ``wait`` for."""
    plain = _QUOTED.sub("", text)
    return _BACKGROUND.search(plain) is not None and re.search(r"\bwait\b", plain) is None


def _takes_program(tool: str, option: str) -> bool:
    """Whether the word after this option is program text."""
    if tool in SHELLS:
        return _SHELL_INLINE.match(option) is not None
    return tool in INTERPRETERS and _INLINE.match(option) is not None


def _base(text: str | None) -> str:
    return (text or "").rpartition("/")[2]


RULE = ShellText()
