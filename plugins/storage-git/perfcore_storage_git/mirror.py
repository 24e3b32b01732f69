"""The copy of a store's ref on this machine, and git, which moves it to and from the repository it is in.

Everything that is read comes from a bare repository beside the store (`place`), into which git fetches what is missing.
What is written is made there, and pushed with a lease: the ref in the other repository changes only if nobody else
changed it since it was looked at. The copy is a cache: without it, git fetches everything once more.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from perfcore import files
from perfcore.errors import StorageError
from perfcore.named_tuple import NamedTuple
from perfcore.text import clip, printable
from perfcore_storage_git import ssh
from perfcore_storage_git.keys import Held, held
from perfcore_storage_git.settings import GitStorageSettings

# Of those that git sets for its own children: this process may be a child of a hook.
_OF_A_REPOSITORY = frozenset(
    f"GIT_{name}"
    for name in (
        "ALTERNATE_OBJECT_DIRECTORIES",
        "COMMON_DIR",
        "DIR",
        "GRAFT_FILE",
        "IMPLICIT_WORK_TREE",
        "INDEX_FILE",
        "INTERNAL_SUPER_PREFIX",
        "NAMESPACE",
        "NO_REPLACE_OBJECTS",
        "OBJECT_DIRECTORY",
        "PREFIX",
        "QUARANTINE_PATH",
        "REPLACE_REF_BASE",
        "SHALLOW_FILE",
        "WORK_TREE",
    )
)
# Nothing here runs a program that a file beside the repository names; damaged objects are refused.
_ALWAYS = (
    *("-c", "protocol.ext.allow=never", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    *("-c", "transfer.fsckObjects=true", "-c", "gc.autoDetach=false", "-c", "maintenance.autoDetach=false"),
    *("-c", "push.gpgSign=false", "-c", "push.followTags=false", "-c", "push.recurseSubmodules=no"),
    *("-c", "fetch.recurseSubmodules=no", "-c", "fetch.writeCommitGraph=false", "-c", "submodule.recurse=false"),
)
# Settings that only say how a place is reached: none names a program, a file that git writes, or a folder in the place
# of a server, whose hooks would run here.
_HARMLESS = re.compile(
    r"(?s:http\.(?!(?:.*\.)?(?:cookiefile|savecookies)$).*|credential\.(?!(?:.*\.)?helper$).*|"
    r"url\.(?!file:)[^/:]{2,}:(?!:).*\.(?:push)?insteadof)",
    re.IGNORECASE,
)
# What `git init` writes into the configuration of a copy: the layout of its files.
_LAYOUT = re.compile(
    rb"\s*(?:\[(?:core|extensions)\]|(?:repositoryformatversion|filemode|bare|ignorecase|precomposeunicode|symlinks|"
    rb"objectformat|refstorage)\s*=\s*\w+)\s*",
    re.IGNORECASE,
)
# For a folder that may be anybody's: git runs no hook there, fetches nothing for it, and changes no working tree.
_WITHOUT_PROGRAMS = {
    "upload-pack": "GIT_NO_LAZY_FETCH=1 GIT_ALLOW_PROTOCOL=none git-upload-pack",
    "receive-pack": "git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true -c receive.autogc=false "
    "-c receive.denyCurrentBranch=refuse receive-pack",
}
_SEEN = "refs/perf/seen/"  # what a process looks at, so that git does not collect it
_KEPT = 10  # of these refs; older ones are of processes that are gone
_DAY = 24 * 3600 * 10**9
_LONG = 500  # commits, after which the next one begins a new history
_AUTHOR = "perfcore <perfcore@localhost>"  # who pushes is no matter of the store
# What a server says of another push in the same moment, which may not have changed the ref yet.
_BUSY = ("cannot lock ref", "failed to update ref", "incorrect old value", "reference already exists", "stale info")
# What git says of a disk, not always with the file: of that of the server it says so behind `remote:`.
_DISK = ("No space left on device", "Out of diskspace", "Disk quota exceeded", "Read-only file system")
_ENDED = "fatal: Could not read from remote repository."  # of a server, behind what it or ssh says
# What servers of git say to who may not write, the code of HTTP among it.
_FORBIDDEN = re.compile(r"(?i)permission|denied|declined|not allowed|error: 403|hidden ref")
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Snapshot(NamedTuple):
    """The store as it was when it was looked at. `commit` is empty where there is none yet; `length` counts the
    commits of its history. `older` are keys that are in the tree once more, which no writer of ours leaves."""

    commit: str
    keys: Mapping[str, Held]
    length: int
    older: tuple[Held, ...] = ()


EMPTY = Snapshot("", {}, 0)


def is_long(snapshot: Snapshot) -> bool:
    """Whether the next commit should begin a new history, without what was deleted."""
    return snapshot.length >= _LONG


class GitError(StorageError):
    """git failed; `said` is what it wrote on standard error."""

    def __init__(self, message: str, said: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint or None)
        self.said = said


class Mirror:
    """The copy in `place`, which is made when it is first used."""

    def __init__(self, place: Path, settings: GitStorageSettings) -> None:
        self.place = place
        self.settings = settings
        self._ref = f"{_SEEN}{time.time_ns():x}-{os.getpid()}-{secrets.token_hex(4)}"
        self._environment: dict[str, str] | None = None
        self._is_disarmed = False
        self._objects: subprocess.Popen[bytes] | None = None

    @property
    def shown(self) -> str:
        """The place of the store for messages, without a password."""
        return printable(_masked(self.settings.url))

    # Looking

    def head(self) -> str:
        """The commit of the store in the other repository; empty where there is none."""
        lines = (
            self._git(
                "ls-remote",
                *self._pack("upload-pack"),
                "--",
                self.settings.url,
                "HEAD",
                self.settings.ref,
                inside=False,
            )
            .decode()
            .splitlines()
        )
        ids = {name: id for id, _, name in (line.partition("\t") for line in lines)}
        self._make("sha256" if any(len(id) == 64 for id in ids.values()) else "sha1")
        return ids.get(self.settings.ref, "")

    def fetch(self) -> Snapshot:
        """The store as it is now."""
        refspec = f"+{self.settings.ref}:{self._ref}"
        self._git(
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=", *self._pack("upload-pack")),
            *("--", self.settings.url, refspec),
        )
        self._forget_old()
        return self.snapshot(self._git("rev-parse", "--verify", "--end-of-options", self._ref).decode().strip())

    def snapshot(self, commit: str) -> Snapshot:
        """The keys in the tree of a commit. Of a key that is there twice, the newer one counts."""
        keys: dict[str, Held] = {}
        older: list[Held] = []
        listed = self._git("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
        for row in listed.split(b"\0")[:-1]:
            about, _, name = row.partition(b"\t")
            mode, kind, blob, size = about.decode().split()
            row_key = held(os.fsdecode(name), blob, int(size)) if kind == "blob" and mode != "120000" else None
            if row_key is not None:
                same = sorted({row_key, keys.get(row_key.key, row_key)}, key=lambda held: held.touched)
                older += same[:-1]
                keys[row_key.key] = same[-1]
        message = self.content(commit)[1].partition(b"\n\n")[2]
        counted = re.match(rb"Profiles \(([0-9]{1,9})\)\n", message)
        return Snapshot(commit, keys, int(counted[1]) if counted else 1, tuple(older))

    def content(self, id: str) -> tuple[str, bytes]:
        """The type and bytes of an object. One process of git gives them all."""
        process = self._objects
        if process is None or process.poll() is not None:
            process = self._objects = self._started("cat-file", "--batch")
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{id}\n".encode())
            process.stdin.flush()
            head = process.stdout.readline().decode(errors="replace").split()
            if len(head) == 3 and head[2].isdigit():
                data = process.stdout.read(int(head[2]) + 1)[:-1]
                if len(data) == int(head[2]):
                    return head[1], data
        except OSError:
            head = []
        self._end(process)
        self._objects = None
        raise StorageError(
            f"the copy of {self.shown} lacks the object {id}, or it is damaged",
            hint=f"rm -r {printable(str(self.place))}",
        )

    # Writing

    def commit(
        self, before: Snapshot, puts: Mapping[Held, bytes | None], gone: Sequence[Held], *, anew: bool = False
    ) -> Snapshot:
        """The store with a new commit, not pushed yet. Of what is put without bytes, git has the blob already. `anew`:
        the commit has no parent."""
        length = 1 if anew else before.length + 1
        # Two writers who do the same in the same second must not make one commit: both would believe it theirs.
        message = f"Profiles ({length})\n\nPush: {secrets.token_hex(16)}\n".encode()
        head = [
            f"commit {self._ref}",
            "mark :1",
            f"committer {_AUTHOR} {int(time.time())} +0000",
            f"data {len(message)}",
        ]
        with self._importing() as (stream, process):
            stream.write("\n".join(head).encode() + b"\n" + message)
            if before.commit and not anew:
                stream.write(f"from {before.commit}\n".encode())
            elif before.commit:
                tree = (
                    self._git("rev-parse", "--verify", "--end-of-options", f"{before.commit}^{{tree}}").decode().strip()
                )
                stream.write(f'M 040000 {tree} ""\n'.encode())
            changed = {old.key for old in gone}
            older = [old for old in before.older if old.key in changed]  # or a key that is deleted would come back
            for old in (*gone, *older):
                stream.write(f"D {old.path}\n".encode())
            for new, data in puts.items():
                if data is None:
                    stream.write(f"M 100644 {new.blob} {new.path}\n".encode())
                else:
                    stream.write(f"M 100644 inline {new.path}\ndata {len(data)}\n".encode())
                    stream.write(data)
                    stream.write(b"\n")
            stream.write(b"\nget-mark :1\ndone\n")
            output, said = process.communicate()
        made = output.decode(errors="replace").strip()
        if process.returncode or not _ID.fullmatch(made):
            raise self._failure("fast-import", said)
        keys = dict(before.keys)
        for old in gone:
            del keys[old.key]
        left = tuple(old for old in before.older if old not in older)
        return Snapshot(made, {**keys, **{new.key: new for new in puts}}, length, left)

    def push(self, before: str, commit: str) -> bool:
        """Make a commit that of the store; False if somebody else changed it since it was looked at."""
        ref = self.settings.ref
        lease = f"--force-with-lease={ref}:{before}"
        try:
            words = (
                "push",
                "--porcelain",
                "--no-verify",
                "--thin",
                *self._pack("receive-pack"),
                lease,
                "--",
                self.settings.url,
                f"{commit}:{ref}",
            )
            self._git(*words)
        except GitError as error:
            now = self.head()
            if now == commit:
                return True  # the answer was lost, not the push
            if now != before or any(words in error.said for words in _BUSY):
                return False
            raise
        return True

    # git

    def _pack(self, program: str) -> tuple[str, ...]:
        """The option that starts the other side, where that runs on this machine and may run nothing else."""
        if self.settings.programs or not _is_folder(self.settings.url):
            return ()
        return (f"--{program}={_WITHOUT_PROGRAMS[program]}",)

    def _make(self, format: str) -> None:
        self._disarm()
        if (self.place / "HEAD").exists():
            return
        made = self.place.with_name(f"{self.place.name}.{secrets.token_hex(4)}")
        try:
            made.parent.mkdir(parents=True, exist_ok=True)
            self._git(
                "init", "--quiet", "--bare", "--template=", f"--object-format={format}", "--", str(made), inside=False
            )
            os.rename(made, self.place)
        except OSError as error:
            shutil.rmtree(made, ignore_errors=True)
            if not (self.place / "HEAD").exists():  # or else another process was faster
                raise StorageError(f"cannot make {printable(str(self.place))}: {error.strerror}") from error

    def _disarm(self) -> None:
        """Leave nothing in the copy that names a program or leads elsewhere: who copies a store brings it along."""
        if self._is_disarmed:
            return
        try:
            if self.place.is_symlink():
                self.place.unlink()
            elif _leads_elsewhere(self.place):
                shutil.rmtree(self.place)
            elif (config := self.place / "config").exists():
                lines = config.read_bytes().splitlines(keepends=True)
                if not all(map(_LAYOUT.fullmatch, lines)):
                    files.write_atomically(config, b"".join(filter(_LAYOUT.fullmatch, lines)))
        except OSError as error:
            raise StorageError(f"cannot use {printable(str(self.place))}: {error.strerror}") from error
        self._is_disarmed = True

    def _forget_old(self) -> None:
        """Remove what processes looked at that are gone."""
        refs = self._git("for-each-ref", "--format=%(refname)", _SEEN).decode().splitlines()
        begun = time.time_ns() - _DAY
        old = [ref for ref in refs if int(ref.removeprefix(_SEEN).partition("-")[0], 16) < begun]
        if len(refs) > _KEPT and old:
            self._git("update-ref", "--stdin", input="".join(f"delete {ref}\n" for ref in old).encode())

    def _git(self, *words: str, input: bytes | None = None, inside: bool = True) -> bytes:
        process = self._started(*words, inside=inside, given=input is not None)
        try:
            output, said = process.communicate(input)
        except BaseException:
            self._end(process)
            raise
        if process.returncode:
            raise self._failure(words[0], said + output if words[0] == "push" else said)
        return output

    def _started(self, *words: str, inside: bool = True, given: bool = True) -> subprocess.Popen[bytes]:
        # Never the repository that the current folder is in, whose configuration may name programs.
        where = f"--git-dir={self.place if inside else os.devnull}"
        try:
            return subprocess.Popen(
                ["git", *_ALWAYS, where, *words],
                stdin=subprocess.PIPE if given else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if words[0] != "cat-file" else subprocess.DEVNULL,
                env=self._variables(),
            )
        except OSError as error:
            raise StorageError(f"git cannot be run: {error.strerror}", hint="install git") from error

    @contextlib.contextmanager
    def _importing(self) -> Iterator[tuple[IO[bytes], subprocess.Popen[bytes]]]:
        process = self._started("fast-import", "--quiet", "--force", "--done", "--date-format=raw")
        assert process.stdin is not None
        try:
            yield process.stdin, process
        except BrokenPipeError as error:
            raise self._failure("fast-import", process.communicate()[1]) from error
        finally:
            self._end(process)

    def _variables(self) -> dict[str, str]:
        if self._environment is None:
            variables = {name: text for name, text in os.environ.items() if name not in _OF_A_REPOSITORY}
            variables |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
            if not _is_folder(self.settings.url):
                variables |= ssh.limited(variables)
            count = int(variables.get("GIT_CONFIG_COUNT") or 0)
            settings = list(self._settings_of_repository())
            for number, (key, value) in enumerate(settings, count):
                variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
            self._environment = {**variables, "GIT_CONFIG_COUNT": str(count + len(settings))}
        return self._environment

    def _settings_of_repository(self) -> Iterator[tuple[str, str]]:
        """What the repository itself says of how others are reached, such as the token that a CI put there. Who copies
        a repository brings its configuration along: what names a program is left to the user's own configuration."""
        if not self.settings.config:
            return
        path = Path(self.settings.config)
        done = subprocess.run(
            ["git", "config", "--file", str(path), "--includes", "--list", "-z"],
            cwd=path.parent if path.parent.is_dir() else None,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        for row in done.stdout.split(b"\0")[:-1] if not done.returncode else ():
            key, _, value = os.fsdecode(row).partition("\n")
            if _HARMLESS.fullmatch(key):
                yield key, value

    def _failure(self, command: str, said: bytes) -> GitError:
        text = _masked(said.decode(errors="replace"))
        lines = [line for line in map(str.strip, text.splitlines()) if line]
        reason = clip(printable("; ".join(dict.fromkeys(_reasons(lines)))), 400) or "it gave no reason"
        place = printable(str(self.place))
        if any(str(self.place) in line or any(words in line for words in _DISK) for line in _of_this_side(lines)):
            return GitError(
                f"git cannot write to {place}, the copy of {self.shown}: {reason}",
                text,
                hint="make room there, and check that it may be written",
            )
        action = {"ls-remote": "reach", "fetch": "read", "push": "write to"}.get(command)
        if action is None:
            return GitError(f"git {command} failed in {place}: {reason}", text)
        hint = f"git ls-remote {self.shown}"
        if command == "push" and _FORBIDDEN.search(reason):
            hint = "to a repository where you may write, such as a fork of yours: perf push REMOTE"
        return GitError(f"git cannot {action} {self.shown}: {reason}", text, hint=hint)

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        process.wait()

    def __del__(self) -> None:
        if self._objects is not None:
            self._end(self._objects)


def _is_folder(url: str) -> bool:
    """Whether git finds the repository of a URL on this machine."""
    before = url.partition(":")[0]  # a slash in front of the colon makes it a path (git-clone(1))
    return url.lower().startswith("file:") or before == url or "/" in before or os.path.isabs(url)


def _leads_elsewhere(place: Path) -> bool:
    """Whether git would read or write anything of a copy outside of it."""
    walked = ((folder, name) for folder, folders, names in os.walk(place) for name in (*folders, *names))
    return (place / "commondir").exists() or any(os.path.islink(os.path.join(*path)) for path in walked)


def _reasons(lines: Sequence[str]) -> Sequence[str]:
    """What git says of a failure. Of a server that ended a connection it knows no reason: that stands before."""
    if _ENDED in lines and (before := lines[: lines.index(_ENDED)]):
        return [line for line in before if not line.startswith("Warning:")][-3:]
    if rejected := [line.rpartition("\t")[2] for line in lines if line.startswith("!")]:
        return [*(line for line in lines if line.startswith("remote:")), *rejected]
    return [line for line in lines if line.startswith(("fatal:", "error:", "remote:", "git:"))] or lines[-1:]


def _of_this_side(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if not line.startswith("remote:")]


def _masked(text: str) -> str:
    """The same without the passwords of URLs."""
    return re.sub(r"(?<=://)([^/@:\s]*):[^/@\s]*@", r"\1:***@", text)
