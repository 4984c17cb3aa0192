"""The image: its recipe's digest, its two forms, its inventory, and what happens when neither can be built."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tarfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import image, recipe, rootfs
from sandbox.image_store import name_and_tag, open_images
from sandbox.interface import Cause, SandboxError
from sandbox.recipe import Recipe

QUIET = lambda _: None  # noqa: E731 - the shortest listener


@dataclass
class FakeStore:
    """Images as a dictionary. Fails where it is told to, with the error it is told."""

    images: dict[str, dict[str, str]] = field(default_factory=dict)
    fails: dict[str, SandboxError] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    def _called(self, name: str, ref: str) -> None:
        self.calls.append(f"{name} {ref}")
        if name in self.fails:
            raise self.fails[name]

    def image_labels(self, ref: str) -> Mapping[str, str] | None:
        return self.images.get(ref)

    def image_id(self, ref: str) -> str:
        return f"sha256:{ref}"

    def pull(self, ref: str, silence_s: float) -> None:
        self._called("pull", ref)
        self.images[ref] = {}

    def build(self, context: Path, ref: str, say: object, network: str | None = None) -> None:
        self._called("build", ref)
        self.images[ref] = {}

    def import_root(self, tar: Path, ref: str, changes: Sequence[str]) -> None:
        self._called("import", ref)
        self.images[ref] = {}

    def label(self, ref: str, labels: Mapping[str, str], new_ref: str) -> None:
        self._called("label", new_ref)
        self.images[new_ref] = {**self.images[ref], **labels}

    def untag(self, ref: str) -> None:
        self.images.pop(ref, None)

    def run_script(self, ref: str, script: str) -> bytes:
        self._called("run", ref)
        return b"os debian 12\n"


NO_REGISTRY = SandboxError(Cause.IMAGE_MISSING, "no image registry is in reach")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Recipe:
    """A recipe without Nushell, built by a root file system that is one empty file."""
    monkeypatch.setattr("sandbox.image.build_root", lambda recipe, nu, target, say: target.write_bytes(b""))
    monkeypatch.setattr("platformdirs.user_state_path", lambda name: tmp_path / "state")
    return recipe.load_recipe(["bash"]).without_nu()


# ---------------------------------------------------------------- recipe


def test_the_recipe_covers_what_the_corpus_was_recorded_with() -> None:
    """Every package that the evidence's own environment had is in the image."""
    recorded = (
        "bash coreutils findutils sed gawk grep python3 jq git diffutils patch tar gzip bzip2 xz-utils zip unzip file bc "
        "bsdmainutils rename sqlite3 make openssl perl procps moreutils dos2unix"
    )
    found = recipe.load_recipe()
    assert set(recorded.split()) <= set(found.packages)
    assert found.uid == 1000


packages = st.sets(st.from_regex(r"[a-z][a-z0-9+.-]{1,10}", fullmatch=True), max_size=6)


@given(packages, packages)
def test_the_tag_depends_on_the_set_of_packages_alone(one: set[str], other: set[str]) -> None:
    """Order and repetition do not make another image; another package does."""
    first = recipe.load_recipe(sorted(one) * 2)
    assert recipe.load_recipe(sorted(one, reverse=True)).tag == first.tag
    assert (recipe.load_recipe(sorted(other)).tag == first.tag) == (one == other)


def test_everything_in_the_recipe_changes_its_digest() -> None:
    """A changed script, user, locale or missing Nushell is another image."""
    one = recipe.load_recipe(architecture="x86_64")
    others = [
        replace(one, base="debian:trixie-slim"),
        replace(one, user="robot"),
        replace(one, locales=("de_DE",)),
        replace(one, files=((*one.files[0][:1], "FROM scratch"), *one.files[1:])),
        one.without_nu(),
        recipe.load_recipe(architecture="aarch64"),
        recipe.load_recipe(architecture="riscv64"),
    ]
    assert len({r.tag for r in [one, *others]}) == len(others) + 1


@pytest.mark.parametrize("name", ["", "--purge", "a b", "bash;reboot", "Bash", "x\nRUN reboot", "../x"])
def test_a_name_that_is_no_package_is_refused(name: str) -> None:
    """It would become an option or a second command."""
    with pytest.raises(ValueError, match="is not the name of a Debian package"):
        recipe.load_recipe(["bash", name])


def test_both_forms_install_the_same_packages_and_run_the_same_set_up(tmp_path: Path) -> None:
    """One list and one script: the forms cannot drift apart."""
    known = recipe.load_recipe(["bash", "jq"], architecture="x86_64")
    text = recipe.dockerfile(known)
    flags = list(rootfs.options(known, None, tmp_path))
    assert "--no-install-recommends bash jq" in text
    assert "--include=bash,jq" in flags
    assert (tmp_path / "setup.sh").read_text() == known.text("setup.sh")
    for key, value in known.settings.items():
        assert f"{key}='{value}'" in text
        assert any(f"{key}='{value}'" in flag for flag in flags)
    assert "$" not in text.replace("$?", "")


def test_a_build_context_holds_nothing_of_the_builder(tmp_path: Path) -> None:
    """No times, no owners, the scripts and the program."""
    nu = tmp_path / "nu"
    nu.write_bytes(b"#!nu")
    with (tmp_path / "context.tar").open("w+b") as stream:
        recipe.build_context(recipe.load_recipe(), nu, stream)
        with tarfile.open(fileobj=stream) as tar:
            members = tar.getmembers()
            assert [m.name for m in members] == ["Dockerfile", "files/assay-setup.sh", "files/usr/local/bin/nu"]
            assert {(m.mtime, m.uid, m.uname) for m in members} == {(0, 0, "")}


# ---------------------------------------------------------------- which form, and what is kept


def test_an_image_that_is_there_is_returned_at_once(small: Recipe) -> None:
    """Nothing is asked for twice."""
    store = FakeStore({small.tag: {}})
    assert image.ensure_in(store, small, lambda text: pytest.fail(text)) == small.tag
    assert store.calls == []


def test_the_dockerfile_form_is_taken_where_the_base_can_be_pulled(small: Recipe) -> None:
    """And the image says so, and what is in it."""
    store = FakeStore()
    image.ensure_in(store, small, QUIET)
    assert [call.split()[0] for call in store.calls] == ["pull", "build", "run", "label"]
    labels = store.images[small.tag]
    assert labels["assay.form"] == "dockerfile"
    assert labels["assay.recipe"] == small.digest
    assert len(labels["assay.inventory"]) == 64


def test_without_a_registry_it_is_built_from_packages(small: Recipe) -> None:
    """One sentence says why."""
    store = FakeStore(fails={"pull": NO_REGISTRY})
    said: list[str] = []
    assert image.ensure_in(store, small, said.append) == small.tag
    assert store.images[small.tag]["assay.form"] == "packages"
    assert "not from the Dockerfile: no image registry is in reach" in said


def test_a_base_that_builds_but_not_with_our_packages_falls_through_too(small: Recipe) -> None:
    """No network inside the build is as good as no base."""
    store = FakeStore(fails={"build": SandboxError(Cause.IMAGE_BROKEN, "apt-get exited with 100")})
    assert image.ensure_in(store, small, QUIET) == small.tag
    assert store.images[small.tag]["assay.form"] == "packages"


def test_when_neither_form_can_be_built_both_reasons_are_told(small: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing with the image's name is left."""

    def fails(*_: object) -> None:
        raise SandboxError(Cause.IMAGE_MISSING, "no mmdebstrap", "Install it")

    monkeypatch.setattr("sandbox.image.build_root", fails)
    store = FakeStore(fails={"pull": NO_REGISTRY})
    with pytest.raises(SandboxError, match=r"no mmdebstrap \(nor from the Dockerfile: no image registry is in reach\)") as caught:
        image.ensure_in(store, small, QUIET)
    assert caught.value.advice == "Install it"
    assert store.images == {}


@pytest.mark.parametrize("step", ["build", "import", "run", "label"])
@pytest.mark.parametrize("cause", [Cause.DISK, Cause.ENGINE_LOST])
def test_a_failure_on_the_way_leaves_no_half_image(small: Recipe, step: str, cause: Cause) -> None:
    """The name comes last: an image with the tag is always a finished one."""
    store = FakeStore(fails={step: SandboxError(cause, "gone")}, images={})
    if step == "import":
        store.fails["pull"] = NO_REGISTRY
    with pytest.raises(SandboxError) as caught:
        image.ensure_in(store, small, QUIET)
    assert caught.value.cause is cause
    assert all("assay-sandbox" not in ref for ref in store.images)


def test_a_full_disk_is_not_answered_with_a_second_build(small: Recipe) -> None:
    """The other form would need the same room."""
    store = FakeStore(fails={"build": SandboxError(Cause.DISK, "full")})
    with pytest.raises(SandboxError, match=r"^full$"):
        image.ensure_in(store, small, QUIET)
    assert not any(call.startswith("import") for call in store.calls)


def test_rebuild_builds_although_it_is_there(small: Recipe) -> None:
    """For a user who knows that the packages have moved on."""
    store = FakeStore({small.tag: {}})
    image.ensure_in(store, small, QUIET, rebuild=True)
    assert store.calls[-1] == f"label {small.tag}"


def test_without_npm_the_image_without_nushell_is_found(monkeypatch: pytest.MonkeyPatch, small: Recipe) -> None:
    """A machine that could not fetch Nushell does not build again at every start."""
    full = recipe.load_recipe(["bash"], architecture="x86_64")
    monkeypatch.setattr("sandbox.image.fetched_nu", lambda source, say: contextlib.nullcontext())
    store = FakeStore()
    first = image.ensure_in(store, full, QUIET)
    assert first == full.without_nu().tag
    assert store.images[first]["assay.nu"] == "no"
    calls = len(store.calls)
    assert image.ensure_in(store, full, QUIET) == first
    assert len(store.calls) == calls


def test_the_inventory_is_measured_and_not_believed(tmp_path: Path) -> None:
    """Once for each image id; an image that says something else than it holds is refused by name."""
    right = image.take_inventory(FakeStore(), "any:1")
    store = FakeStore({"mine:1": {"assay.inventory": right}, "theirs:1": {}, "forged:1": {"assay.inventory": "f" * 64}})
    for ref in ("mine:1", "theirs:1", "mine:1"):
        assert image.measured_inventory(store, ref, f"sha256:{ref[0]}", tmp_path) == right
    assert store.calls == ["run mine:1", "run theirs:1"]
    with pytest.raises(SandboxError, match=f"forged:1 says that it holds {'f' * 16}, and holds {right[:16]}"):
        image.measured_inventory(store, "forged:1", "sha256:f", tmp_path)
    with pytest.raises(SandboxError, match="the engine has no image none:1"):
        image.measured_inventory(store, "none:1", "sha256:n", tmp_path)


def test_what_is_remembered_of_an_image_is_a_digest_or_nothing(tmp_path: Path) -> None:
    """A damaged note is measured anew; an image that cannot be looked into stands for itself."""
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory" / "a").write_bytes(b"\xff")
    store = FakeStore({"theirs:1": {}}, fails={"run": SandboxError(Cause.IMAGE_BROKEN, "no shell")})
    first = image.measured_inventory(store, "theirs:1", "sha256:a", tmp_path)
    assert len(first) == 64
    assert first != image.measured_inventory(store, "theirs:1", "sha256:b", tmp_path)
    told = FakeStore({"mine:1": {"assay.inventory": "f" * 64}}, fails={"run": SandboxError(Cause.IMAGE_BROKEN, "no shell")})
    with pytest.raises(SandboxError, match="no shell"):
        image.measured_inventory(told, "mine:1", "sha256:c", tmp_path)


@pytest.mark.parametrize(
    ("ref", "parts"),
    [
        ("debian@sha256:ab", ("debian", "sha256:ab")), ("debian:trixie", ("debian", "trixie")), ("debian", ("debian", "latest")),
        ("host:9/none:1", ("host:9/none", "1")), ("host:9/none", ("host:9/none", "latest")),
    ],
)  # fmt: skip
def test_a_reference_is_given_to_an_engine_in_two_parts(ref: str, parts: tuple[str, str]) -> None:
    """A port is no tag, a digest is one."""
    assert name_and_tag(ref) == parts


def test_the_recipe_names_every_part_by_its_digest() -> None:
    """Base and downloads, for every machine."""
    for machine in ("x86_64", "aarch64", "riscv64"):
        one = recipe.load_recipe(architecture=machine)
        assert re.fullmatch(r"debian@sha256:[0-9a-f]{64}", one.base)
        assert one.nu is None or one.nu.integrity.startswith("sha512-")


def test_only_one_of_two_builders_builds(small: Recipe) -> None:
    """The second waits, says so, and finds the first one's image."""
    store = FakeStore()
    said: list[str] = []
    with image.build_lock(small, QUIET):
        second = threading.Thread(target=image.ensure_in, args=(store, small, said.append))
        second.start()
        while not said:
            second.join(0.01)
        store.images[small.tag] = {}
    second.join(30)
    assert said == ["another process is building the sandbox image; waiting for it"]
    assert store.calls == []


# ---------------------------------------------------------------- on the engine


@pytest.mark.engine
def test_the_real_image_is_what_its_recipe_says() -> None:
    """User, mount points, locales, tools and labels; and the inventory is the same when taken again."""
    tag = image.ensure_image(QUIET)
    with open_images() as store:
        labels = store.image_labels(tag)
        assert labels is not None
        assert tag == f"{recipe.REPOSITORY}:{labels['assay.recipe'][:24]}"
        assert image.current_tag(store) == tag
        assert image.take_inventory(store, tag) == labels["assay.inventory"]
        words = store.run_script(
            tag, "id agent; ls -ld /ws /mnt/ws /home/agent; locale -a; command -v jq; find /etc/apt -name '*host*' -o -name '99*'"
        )
    text = words.decode()
    assert text.startswith("uid=1000(agent) gid=1000(agent)")
    assert {"en_US.utf8", "sv_SE.utf8", "C.utf8", "/usr/bin/jq"} <= set(text.split("\n"))
    assert "/etc/apt" not in text


@pytest.mark.engine
def test_the_dockerfile_form_builds_on_a_base_that_is_there(tmp_path: Path) -> None:
    """On the sandbox image itself as the base, where every package is already installed: no network is needed."""
    tag = image.ensure_image(QUIET)
    small = replace(recipe.load_recipe(["bash", "jq"]), base=tag, nu=None)
    said: list[str] = []
    with open_images() as store:
        try:
            image.build_from_dockerfile(store, image.Plan(small, None), small.tag, said.append)
            assert store.run_script(small.tag, "id -un 1000; command -v jq; test ! -e /assay-setup.sh") == b"agent\n/usr/bin/jq\n"
        finally:
            store.untag(small.tag)
    assert any("Step 1/" in text for text in said)


@pytest.mark.engine
def test_a_base_that_does_not_exist_falls_through_quickly() -> None:
    """A registry out of reach and an unknown name are both one sentence."""
    with open_images() as store, pytest.raises(SandboxError, match="cannot be pulled") as caught:
        store.pull("localhost:9/none:1", 5)
    assert caught.value.cause is Cause.IMAGE_MISSING


@pytest.mark.engine
def test_a_script_that_fails_in_the_image_is_an_error_and_leaves_no_container() -> None:
    """With its last line."""
    tag = image.ensure_image(QUIET)
    with open_images() as store, pytest.raises(SandboxError, match="exited with 3: oh no"):
        store.run_script(tag, "echo oh no >&2; exit 3")


@pytest.mark.engine
def test_two_processes_that_ensure_the_image_at_once_agree() -> None:
    """Both print the one tag."""
    program = "from sandbox.image import ensure_image; print(ensure_image(lambda _: None))"
    runs = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert len({run.communicate(timeout=600)[0] for run in runs}) == 1
    assert [run.returncode for run in runs] == [0, 0]
