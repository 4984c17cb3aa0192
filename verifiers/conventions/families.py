"""What a skill has no business with, as families: each says the idea once and names the ways that lead to it.

A name stands for itself and all below it. Mentioning one is enough, called or not: what is handed on as a value is called
by somebody else, where no rule can see it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """One idea."""

    idea: str
    """Behind a name: ``eval`` + idea is a sentence."""
    names: frozenset[str] = frozenset()
    """Dotted names, as they are known from an import or as a builtin."""
    attributes: frozenset[str] = frozenset()
    """Names of attributes, whatever they are looked up on."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FAMILIES = (
    Family(
        "makes code out of text, and what is judged is the text of the skill alone",
        _words(
            "eval exec compile __import__ __build_class__ timeit logging.config gettext.c2py typing.get_type_hints "
            "typing.ForwardRef types.FunctionType types.LambdaType types.CodeType string.Formatter sys.path sys.path_hooks "
            "sys.meta_path sys.path_importer_cache"
        ),
        _words("load_extension enable_load_extension get_field"),
    ),
    Family(
        "reaches frames, globals or modules as values, past every name that a rule can see",
        _words(
            "globals locals vars sys.modules sys._getframe sys._current_frames sys._current_exceptions traceback.walk_stack "
            "traceback.walk_tb traceback.StackSummary logging.currentframe types.FrameType types.CellType"
        ),
        _words(
            "f_back f_globals f_locals f_code f_builtins f_trace gi_frame gi_code cr_frame cr_code tb_frame ag_frame ag_code "
            "co_code co_consts get_stack print_stack cell_contents mro"
        ),
    ),
    Family(
        "changes or watches the process that runs the skill",
        _words(
            "sys.settrace sys.setprofile sys.gettrace sys.getprofile sys.addaudithook sys.audit sys.monitoring sys.call_tracing "
            "sys.excepthook sys.unraisablehook sys.setrecursionlimit sys.setswitchinterval sys.breakpointhook sys.displayhook "
            "threading.settrace threading.setprofile threading.gettrace threading.getprofile threading.excepthook "
            "atexit.register signal.signal signal.set_wakeup_fd os.register_at_fork weakref.finalize breakpoint"
        ),
        _words("_trace_hook _profile_hook"),
    ),
    Family(
        "ends the process without a value: raise an exception, or return",
        _words("sys.exit exit quit os._exit os.abort os.kill os.killpg signal.raise_signal signal.pthread_kill"),
    ),
    Family(
        "starts what outlives the run, or works where nothing of the run is seen",
        _words(
            "os.fork os.forkpty os.setsid os.setpgid os.daemon os.posix_spawn os.posix_spawnp concurrent.futures.process "
            "concurrent.futures.ProcessPoolExecutor"
        ),
    ),
    Family("waits for a terminal", _words("input")),
    Family(
        "reaches the network",
        _words(
            "asyncio.open_connection asyncio.start_server asyncio.open_unix_connection asyncio.start_unix_server "
            "logging.handlers.SocketHandler logging.handlers.DatagramHandler logging.handlers.SysLogHandler "
            "logging.handlers.SMTPHandler logging.handlers.HTTPHandler"
        ),
        _words("create_connection create_server create_datagram_endpoint create_unix_connection create_unix_server"),
    ),
)

HOLDERS = frozenset(name.partition(".")[0] for family in FAMILIES for name in family.names if "." in name)
"""Modules that hold something of a family: handed on as a value, any of it is in reach."""

NAMED_BY_TEXT = {
    "getattr": 1, "setattr": 1, "delattr": 1, "hasattr": 1, "operator.attrgetter": 0, "operator.methodcaller": 0,
}  # fmt: skip
"""What looks an attribute up by a text, and which argument the text is: called at once and with a constant, it is a spelling."""

HARMLESS_DUNDERS = frozenset(
    f"__{name}__"
    for name in _words(
        "name qualname doc file init new post_init class str repr bytes format len length_hint iter next reversed contains "
        "getitem setitem delitem missing eq ne lt le gt ge hash bool int float complex index round trunc floor ceil add radd "
        "iadd sub rsub mul rmul truediv floordiv mod divmod pow neg pos abs invert and or xor lshift rshift enter exit "
        "aenter aexit aiter anext await call fspath cause context suppress_context traceback notes version all author slots "
        "annotations match_args init_subclass set_name class_getitem copy deepcopy main future members module package"
    )
)
"""Protocols that people write and call. Every other double underscore is a hatch of the interpreter."""

PYTHONS_NOTES = frozenset({"__builtins__", "__warningregistry__", "_member_map_", "_value2member_map_"})
"""Variables that Python itself keeps in a module or a class of flags: what a skill puts there is taken for Python's."""

LOADED_BY_PROGRAMS = re.compile(
    r"(LD_\w+|PYTHON(STARTUP|PATH|HOME|INSPECT|BREAKPOINT|USERBASE|PLATLIBDIR)|BASH_ENV|BASH_FUNC_.*|PROMPT_COMMAND|PS4|"
    r"PERL5(OPT|LIB|DB)|PERLLIB|RUBY(OPT|LIB)|NODE_(OPTIONS|PATH)|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|LUA_(INIT|C?PATH)\w*|"
    r"GCONV_PATH|AWK(LIB)?PATH|LESS(OPEN|CLOSE)|TAR_OPTIONS|RSYNC_RSH|GIT_(SSH|SSH_COMMAND|EXTERNAL_DIFF|PROXY_COMMAND|ASKPASS|"
    r"EXEC_PATH|TEMPLATE_DIR|CONFIG_(COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)))"
)
"""Variables by which a program loads or runs something else than it is told to."""

RUN_BY_PROGRAMS = re.compile(
    r"(?i)(core\.(hookspath|fsmonitor|sshcommand|gitproxy|askpass|attributesfile)|filter\..+\.(clean|smudge|process)|"
    r"(diff|merge)\..*(external|textconv|command|driver)|credential\..*helper|uploadpack\.packobjectshook|"
    r"protocol\.ext\.allow|init\.templatedir|alias\..+)(?:=(?P<value>.*))?"
)
"""Settings of git by which it runs other programs."""

OFF = frozenset({"", "/dev/null", "false", "true", "cat", "0"})
"""Values that switch such a variable or setting off."""

PLANTED = re.compile(r"(^|/)\.git/hooks(/|$)")
"""Places whose files other programs run unasked."""
