"""The modules that a skill may import, spelled out: the same on every Python that runs this program."""

from __future__ import annotations

ALLOWED = frozenset({
    "__future__", "abc", "argparse", "array", "ast", "asyncio", "base64", "binascii", "bisect", "bz2", "calendar", "cmath",
    "codecs",
    "collections", "colorsys", "concurrent", "configparser", "contextlib", "contextvars", "copy", "csv", "dataclasses",
    "datetime",
    "decimal", "difflib", "email", "encodings", "enum", "errno", "fcntl", "filecmp", "fileinput", "fnmatch", "fractions",
    "functools", "genericpath", "getopt", "gettext", "glob", "graphlib", "grp", "gzip", "hashlib", "heapq", "hmac", "html", "io",
    "ipaddress", "itertools", "json", "keyword", "linecache", "locale", "logging", "lzma", "mailbox", "math", "mimetypes",
    "netrc", "ntpath", "numbers", "operator", "os", "pathlib", "platform", "plistlib", "posixpath", "pprint", "pwd", "queue",
    "quopri", "random", "re", "reprlib", "resource", "sched", "secrets", "select", "selectors", "shlex", "shutil", "signal",
    "skill_api", "sqlite3", "stat", "statistics", "string", "stringprep", "struct", "subprocess", "sys", "syslog", "sysconfig",
    "tarfile", "tempfile", "textwrap", "threading", "time", "token", "tokenize", "tomllib", "traceback", "types",
    "typing",
    "unicodedata", "uu", "uuid", "warnings", "weakref", "xml", "zipfile", "zlib", "zoneinfo",
})  # fmt: skip

HARMLESS_PARTS = frozenset({
    "urllib.parse", "urllib.request.pathname2url", "urllib.request.url2pathname", "http.HTTPStatus", "inspect.cleandoc",
})  # fmt: skip
"""Parts of refused modules that only compute."""

REFUSED: dict[str, str] = {
    name: why
    for names, why in {
        "socket socketserver ssl http urllib ftplib smtplib smtpd poplib imaplib nntplib telnetlib xmlrpc webbrowser wsgiref "
        "cgi cgitb "
        "asyncore asynchat": "reaches the network",
        "ctypes mmap multiprocessing posix _posixsubprocess _thread cffi": "works around the interpreter",
        "pickle marshal shelve dbm copyreg pickletools": "can run code while it reads data",
        "importlib imp runpy zipimport pkgutil site sitecustomize code codeop builtins __main__ ensurepip venv pip setuptools "
        "distutils "
        "compileall py_compile zipapp modulefinder": "loads or runs other code",
        "timeit": "makes code out of text",
        "gc inspect dis faulthandler trace tracemalloc bdb pdb cProfile profile pstats symtable unittest doctest atexit "
        "test": "reaches into the process that runs the skill instead of the workspace",
        "tkinter turtle curses readline getpass pty tty termios idlelib antigravity this cmd rlcompleter": "needs a terminal",
    }.items()
    for name in names.split()
}
"""The rest of the standard library that has a reason of its own to be refused."""
