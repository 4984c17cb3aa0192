"""The modules that a skill may import and the programs that it may start: the same wherever this program runs."""

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

_PROGRAMS = (
    "arch b2sum base32 base64 basename basenc cat chgrp chmod chown cksum comm cp csplit cut date dd df dir dircolors dirname du "
    "echo expand expr factor false fmt fold groups head id install join link ln logname ls md5sum mkdir mkfifo mknod mktemp mv "
    "nl nproc numfmt od paste pathchk pr printenv printf ptx pwd readlink realpath rm rmdir seq sha1sum sha224sum sha256sum "
    "sha384sum sha512sum shred shuf sleep sort split stat sum sync tac tail tee test touch tr true truncate tsort uname unexpand "
    "uniq unlink vdir wc whoami yes [ find xargs env nice nohup stdbuf timeout grep egrep fgrep sed awk gawk mawk diff diff3 cmp "
    "sdiff patch tar gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz xzcat unzip zipinfo jq bc file iconv column col colrm "
    "hexdump rev look dos2unix unix2dos sponge zgrep bzgrep xzgrep sh bash dash nu"
)
PROGRAMS = frozenset(_PROGRAMS.split())
"""Programs that any skill may start: they do nothing that the allowed modules do not. What they start is looked at too."""
