"""One image a project: by the digest of what is asked for, fetched here, and without a network in it."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from test_image import QUIET, FakeStore, small

from sandbox import open_sandbox, project
from sandbox.devcontainer import read_devcontainer
from sandbox.image import LABEL_INVENTORY, LABEL_PROJECT, LABEL_RECIPE
from sandbox.image_store import open_images
from sandbox.interface import Cause, RunRequest, SandboxError, ShellJob, Snapshot
from sandbox.project import Tools, ensure_project, ensure_project_in, read_dockerfile, read_package_json, read_requirements
from sandbox.recipe import Recipe, load_recipe

__all__ = ["small"]


class Reading(FakeStore):
    """Keeps what it was told to build, and with which network."""

    def build(self, context: Path, ref: str, say: object, network: str | None = None) -> None:
        with tarfile.open(context) as tar:
            file = tar.extractfile("Dockerfile")
            assert file is not None
            self.calls.append(f"{network}: {file.read().decode()} with {sorted(m.name for m in tar if m.isfile())}")
            assert not any(m.uid or m.mtime or m.uname for m in tar)
        self.images[ref] = dict(self.images.get("base", {}))

    def run_script(self, ref: str, script: str) -> bytes:
        return b"3 11 x86_64 glibc 2.36\n" if "sysconfig" in script or "version_info" in script else b"os debian 12\n"


@pytest.fixture
def store(small: Recipe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Reading:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache")
    return Reading(images={small.tag: {LABEL_RECIPE: small.digest, LABEL_INVENTORY: "told"}})


def asked(tmp_path: Path, text: str, name: str = "requirements.txt") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_an_image_is_named_by_what_is_asked_for(
    tmp_path: Path, store: Reading, small: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wheels for the image's interpreter; built once; another line is another image; its inventory is its own."""
    ran: list[Sequence[str]] = []
    monkeypatch.setattr(project, "_run", lambda command, place: ran.append(command))
    one = read_requirements(asked(tmp_path, "a==1  # for b\n\n# none\nb[x]>=2; python_version > '3' \\\n  --hash=sha256:00\n"))
    tag = ensure_project_in(store, small, [one], QUIET)
    assert ensure_project_in(store, small, [one], QUIET) == tag
    assert [c[-1] for c in ran] == ["pip", "requirements.txt"]
    assert {"--python-version=3.11", "--abi=cp311", "--platform=manylinux_2_36_x86_64", "--only-binary=:all:"} <= set(ran[0])
    (built,) = [c for c in store.calls if "FROM" in c]
    assert built.startswith(f"none: FROM {small.tag}\n")
    labels = store.images[tag]
    assert (labels[LABEL_PROJECT], len(labels[LABEL_INVENTORY])) == (load_recipe().tag, 64)
    assert labels[LABEL_INVENTORY] != "told"
    assert ensure_project_in(store, small, [Tools("requirements", {"requirements.txt": b"a==2"})], QUIET) != tag
    assert not [ref for ref in store.images if "wip" in ref]


@pytest.mark.parametrize(
    "line", ["-e .", "-r more.txt", "--index-url x", "./local", "../x", "/abs.whl", "git+ssh://x", "x @ file:///y", "c://x.whl"]
)
def test_what_no_index_has_is_refused(tmp_path: Path, line: str) -> None:
    """By its line."""
    with pytest.raises(ValueError, match=r"line 2 .* is no package of an index"):
        read_requirements(asked(tmp_path, f"fine\n{line}\n"))


def test_packages_that_cannot_be_fetched_are_an_error(tmp_path: Path, store: Reading, small: Recipe) -> None:
    """With the fetcher's own word, and nothing left behind."""
    with pytest.raises(SandboxError) as caught:
        project._run(["sh", "-c", "echo 'ERROR: No matching distribution' >&2; exit 1"], tmp_path)
    assert (caught.value.cause, "No matching distribution" in caught.value.what) == (Cause.IMAGE_MISSING, True)


def test_npm_packages_go_where_node_looks_from_anywhere(
    tmp_path: Path, store: Reading, small: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the lock where there is one; without the scripts of packages, which would run here."""
    ran: list[Sequence[str]] = []
    monkeypatch.setattr(project, "_run", lambda command, place: ran.append(command))
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    file = asked(tmp_path, "{}", "package.json")
    assert read_package_json(file).packages == ("nodejs",)
    first = ensure_project_in(store, small, [read_package_json(file)], QUIET)
    asked(tmp_path, "{}", "package-lock.json")
    assert ensure_project_in(store, small, [read_package_json(file)], QUIET) != first
    assert [c[:3] for c in ran] == [["/bin/npm", verb, "--ignore-scripts"] for verb in ("install", "ci")]
    assert "COPY node_modules /node_modules" in next(c for c in store.calls if "FROM" in c)
    with pytest.raises(ValueError):
        read_package_json(asked(tmp_path, "[]", "package.json"))


def test_a_dockerfile_is_built_on_our_image_or_has_ours_put_on_top(
    tmp_path: Path, store: Reading, small: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its directory where it copies, and the network of this machine."""
    asked(tmp_path, "x", "tool")
    ours = read_dockerfile(asked(tmp_path, "FROM python:3 AS a\nFROM assay-sandbox\nCOPY --from=a /x /x\n", "Dockerfile"))
    assert sorted(ours.files) == ["Dockerfile", "tool"]
    ensure_project_in(store, small, [ours], QUIET)
    (built,) = [c for c in store.calls if "FROM" in c]
    assert built.startswith(f"host: FROM python:3 AS a\nFROM {small.tag}\nCOPY")
    store.calls.clear()
    theirs = read_dockerfile(asked(tmp_path, "from debian:12\nRUN true\n", "Dockerfile"))
    assert sorted(theirs.files) == ["Dockerfile"]
    ensure_project_in(store, small, [theirs], QUIET)
    first, second = [c for c in store.calls if "FROM" in c.upper() and c.startswith("host")]
    assert first.startswith("host: from debian:12\nRUN true")
    assert "-theirs\n" in second
    assert "apt-get install" in second
    assert "assay-setup.sh" in second
    assert not [ref for ref in store.images if "wip" in ref]
    with pytest.raises(ValueError, match="has no FROM"):
        read_dockerfile(asked(tmp_path, "RUN true\n", "Dockerfile"))
    monkeypatch.setattr(project, "MOST_BYTES", 3)
    with pytest.raises(ValueError, match="holds more than"):
        read_dockerfile(asked(tmp_path, "FROM assay-sandbox\nADD . /x\n", "Dockerfile"))


DEVCONTAINER = """// its own
{
  "build": {"dockerfile": "Dockerfile", "context": "..",}, /* "image": "x" */
  "features": {"ghcr.io/x//y:1": {}}, "forwardPorts": [3000],
  "postCreateCommand": {"a": "./setup \\"a b\\" ${containerWorkspaceFolder}", "b": ["echo", "a b"]},
}
"""


def test_a_devcontainer_is_a_dockerfile(tmp_path: Path, store: Reading, small: Recipe) -> None:
    """Its comments are none of it; its commands run where the project is; what no image holds is named."""
    here = tmp_path / ".devcontainer"
    here.mkdir()
    asked(here, "FROM assay-sandbox\nCOPY tool /x\n", "Dockerfile")
    asked(tmp_path, "x", "tool").chmod(0o755)
    found = read_devcontainer(asked(here, DEVCONTAINER, "devcontainer.json"))
    assert found.left_out == ("features",)
    assert {"tool", "assay-project/tool", "assay-project/.devcontainer/Dockerfile"} <= set(found.files)
    assert found.programs == {"tool", "assay-project/tool"}
    ensure_project_in(store, small, [found], QUIET)
    (built,) = [c for c in store.calls if "FROM" in c]
    run = [line for line in built.splitlines() if line.startswith("RUN")]
    assert run == [
        'RUN ["sh", "-c", "./setup \\"a b\\" /assay-project"]',
        """RUN ["sh", "-c", "echo 'a b'"]""",
        "RUN rm -rf /assay-project",
    ]
    assert f"FROM {small.tag}\nCOPY tool /x\n\nUSER root\nCOPY assay-project /assay-project" in built
    assert read_devcontainer(asked(tmp_path, '{"image": "debian:12"}', ".devcontainer.json")).files == {
        "Dockerfile": b"FROM debian:12\n"
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "no JSON object"), ("{", "end of input"), ("{}", "neither image nor"), ('{"dockerComposeFile": "x"}', "several"),
        ('{"build": {"dockerfile": "D", "args": {}}}', "build.args is not"), ('{"image": "${localEnv:X}"}', "no plain text"),
        ('{"build": 1}', "no object"), ('{"image": "x\\ny"}', "no plain text"),
        ('{"image": "x", "postCreateCommand": 3}', "postCreateCommand is no command"),
    ],
)  # fmt: skip
def test_what_no_image_is_made_from_is_refused(tmp_path: Path, text: str, why: str) -> None:
    """By name."""
    with pytest.raises(ValueError, match=why):
        read_devcontainer(asked(tmp_path, text, "devcontainer.json"))


@pytest.mark.engine
def test_a_project_runs_its_own_tools_without_a_network(tmp_path: Path) -> None:
    """A package of the index and a program of the project's, in a sandbox of that image."""
    asked(tmp_path, "#!/bin/sh\necho mine\n", "mine")
    file = asked(tmp_path, "FROM assay-sandbox\nCOPY mine /usr/local/bin/\nRUN chmod 755 /usr/local/bin/mine\n", "Dockerfile")
    tools = [read_requirements(asked(tmp_path, "tabulate\n")), read_dockerfile(file)]
    tag = ensure_project(QUIET, tools)
    job = ShellJob(("mine; echo 1 2 | tabulate -f plain; python3 -c 'import tabulate'",))
    try:
        with open_sandbox(image=tag) as box, box.session("project", 1) as session, open_sandbox() as plain:
            (record,) = session.map([RunRequest(job, Snapshot())])
            assert (record.steps[0].exit_code, record.steps[0].stdout) == (0, b"mine\n1  2\n")
            assert box.info.inventory != plain.info.inventory
    finally:
        with open_images() as images:
            images.untag(tag)
