"""What a push redacts leaves in no form, comes back as what it was, and is never doubled."""

from __future__ import annotations

import random
import re
import signal
import zlib
from pathlib import Path

import pytest
from perfcore_command_remote.links import Links
from perfcore_command_remote.memory import Memory
from perfcore_command_remote.redaction import Redacting, Restoring, Translation
from perfcore_command_remote.rules import Rules
from perfcore_command_remote.transfer import Transferred, transfer
from perfcore_testing import profiles
from perfcore_testing.memory import MemoryStorage

from perfcore.errors import FormatError, UsageError
from perfcore.model import Entry, Header, Profile, Tool
from perfcore.model.listener import SilentListener
from perfcore.model.record import replace
from perfcore.profile.table import column, table
from perfcore.store import index as indexes
from perfcore.store import notes, objects
from perfcore.store.index import Index
from perfcore.store.read_model import ReadModel
from perfcore.store.store import Store

VCS = "git"
VERSION = f"{7:040x}"
SECRET = "alice"
RULES = Rules(frozenset({"host"}), ((re.compile("/home/[^/ ]+"), "~"), (re.compile(SECRET), "someone")))


def secret_profile(rows: int = 3) -> Profile:
    """A profile that says who measured it, in every place that can hold a text."""
    files = [f"/home/{SECRET}/project/part{row % 50}.c" for row in range(rows)]
    columns = [column("file", files), column("line", list(range(rows))), column("wall", [7] * rows, role="value")]
    return Profile(
        header=Header(
            type="time",
            argv=(f"/home/{SECRET}/bench", "--fast"),
            cmd=f"/home/{SECRET}/bench",
            args="--fast",
            workload=f"{SECRET}.txt",
            units={"wall": "ns"},
        ),
        created=1,
        collector=Tool(name="time", version="1", params={"env": {"HOME": f"/home/{SECRET}"}, "list": [SECRET]}),
        machine={"host": f"{SECRET}s-laptop", "cpu": "z80", "cpus": 4, "extra": {"owner": SECRET}},
        notes=(f"measured by {SECRET}",),
        tables={"resources": table("resources", columns)},
    )


def register(store: Store, profile: Profile, *tags: str) -> Entry:
    content, tables = store.encode_profile(profile)
    header = profile.header
    entry = Entry(
        profile=objects.identify(objects.Object("profile", "time", content)),
        created=profile.created,
        name=f"time-{header.workload}.perf",
        type="time",
        tables=tables,
        cmd=header.cmd,
        args=header.args,
        workload=header.workload,
        tags=tags,
    )
    return store.register(VCS, VERSION, content, "time", entry)


def live(store: Store) -> tuple[Entry, ...]:
    return store.read_index(VCS, VERSION).live


def bring(
    source: Store, target: Store, translation: Translation | None = None, *, dry_run: bool = False
) -> Transferred:
    done = transfer(source, target, Memory(ReadModel(None)), SilentListener(), translation=translation, dry_run=dry_run)
    assert not done.problems
    return done


def told(store: Store) -> bytes:
    """All that a storage holds, unpacked."""
    parts = []
    for row in store.storage.list(""):
        data = store.storage.read(row.key).data
        parts.append(row.key.encode() + (zlib.decompress(data) if objects.is_compressed(data) else data))
    return b"\n".join(parts)


@pytest.fixture
def here() -> Store:
    return Store(MemoryStorage())


@pytest.fixture
def there() -> Store:
    return Store(MemoryStorage())


@pytest.fixture
def links(tmp_path: Path) -> Links:
    return Links(tmp_path / "redacted")


@pytest.mark.parametrize("rows", [3, 200_000])
def test_nothing_that_the_rules_name_arrives(here: Store, there: Store, links: Links, rows: int) -> None:
    original = register(here, secret_profile(rows))
    assert SECRET.encode() in told(here)
    bring(here, there, Redacting(here, RULES, links))
    assert SECRET.encode() not in told(there)
    (entry,) = live(there)
    assert entry.profile != original.profile
    profile = there.load(entry.profile)
    assert "host" not in profile.machine
    assert profile.machine["cpu"] == "z80"
    assert profile.header.argv == ("~/bench", "--fast")
    resources = profile.tables["resources"]
    assert resources["file"][rows - 1] == f"~/project/part{(rows - 1) % 50}.c"
    assert list(resources["line"]) == list(range(rows))
    assert live(here) == (original,)


def test_what_no_rule_names_is_the_same_object(here: Store, there: Store, links: Links) -> None:
    entry = register(here, replace(profiles.timed(3, 100), origin=VERSION))
    bring(here, there, Redacting(here, RULES, links))
    assert live(there) == (entry,)


def test_pulling_back_doubles_nothing_and_brings_new_tags(here: Store, there: Store, links: Links) -> None:
    original = register(here, secret_profile(), "first")
    bring(here, there, Redacting(here, RULES, links))
    assert not bring(there, here, Restoring(Links.read(links.path or Path()))).profiles
    assert live(here) == (original,)
    (entry,) = live(there)

    def retag(index: indexes.Index) -> indexes.Index:
        return indexes.add(indexes.bury(index, entry), entry._replace(tags=("first", "release")))

    there.update_index(VCS, VERSION, retag)
    bring(there, here, Restoring(links))
    assert live(here) == (original._replace(tags=("first", "release")),)


def test_tags_and_removals_follow(here: Store, there: Store, links: Links) -> None:
    original = register(here, secret_profile(), "first")
    bring(here, there, Redacting(here, RULES, links))
    tagged = original._replace(tags=("second",))
    here.update_index(VCS, VERSION, lambda index: indexes.add(indexes.bury(index, original), tagged))
    for _ in range(2):
        bring(here, there, Redacting(here, RULES, links))
        assert [entry.tags for entry in live(there)] == [("second",)]
    here.update_index(VCS, VERSION, lambda index: indexes.bury(index, tagged))
    bring(here, there, Redacting(here, RULES, links))
    assert not live(there)


def test_other_rules_replace_what_earlier_ones_made(here: Store, there: Store, links: Links) -> None:
    register(here, secret_profile())
    bring(here, there, Redacting(here, Rules(frozenset({"host"})), links))
    (first,) = live(there)
    bring(here, there, Redacting(here, RULES, links))
    (second,) = live(there)
    assert first.profile != second.profile
    assert not bring(there, here, Restoring(links)).profiles
    assert len(live(here)) == 1


@pytest.mark.parametrize("pulls", [False, True])
def test_rules_that_change_back_and_forth_lose_nothing(here: Store, there: Store, links: Links, pulls: bool) -> None:
    """As on two branches whose committed rules differ."""
    original = register(here, secret_profile(), "release")
    other, sent = Store(MemoryStorage()), []
    for rules in (Rules(frozenset({"host"})), RULES) * 3:
        for _ in range(2):
            bring(here, there, Redacting(here, rules, links))
            (entry,) = live(there)
            bring(there, other)
            assert live(other) == (entry,)
            if pulls:
                bring(there, here, Restoring(links))
            assert [(kept.profile, kept.tags) for kept in live(here)] == [(original.profile, ("release",))]
        sent.append(entry.profile)
    assert sent == sent[:2] * 3
    assert sent[0] != sent[1]
    there.update_index(VCS, VERSION, lambda index: indexes.bury(index, entry))
    for rules in (RULES, Rules(frozenset({"host"}))):  # what somebody removed does not come back
        bring(here, there, Redacting(here, rules, links))
        assert not live(there)
    bring(there, here, Restoring(links))
    assert not live(here)


def test_what_was_removed_there_does_not_come_back_by_other_rules(here: Store, there: Store, links: Links) -> None:
    register(here, secret_profile())
    bring(here, there, Redacting(here, RULES, links))
    (entry,) = live(there)
    there.update_index(VCS, VERSION, lambda index: indexes.bury(index, entry))
    for rules in (Rules(frozenset({"host"})), Rules()):
        bring(here, there, Redacting(here, rules, links))
        assert not live(there)


def test_without_rules_originals_take_the_place_of_copies(here: Store, there: Store, links: Links) -> None:
    original = register(here, secret_profile(), "release")
    bring(here, there, Redacting(here, RULES, links))
    for rules in (Rules(), RULES, Rules()):
        bring(here, there, Redacting(here, rules, links))
        assert live(there) == (original,)
        bring(there, here, Restoring(links))
        assert live(here) == (original,)


def test_any_order_of_transfers_of_three_clones_doubles_and_loses_nothing() -> None:
    rng = random.Random(11)
    for _ in range(30):
        remote = Store(MemoryStorage())
        clones = [(Store(MemoryStorage()), Links()) for _ in range(3)]
        for number, (store, _) in enumerate(clones):
            register(store, replace(secret_profile(), created=number))
        steps = [(way, clone) for clone in clones for way in ("push", "pull")] * 2
        rng.shuffle(steps)
        for way, (store, links) in [*steps, *(("push", clone) for clone in clones), *(("pull", c) for c in clones)]:
            if way == "push":
                bring(store, remote, Redacting(store, RULES, links))
            else:
                bring(remote, store, Restoring(links))
        assert SECRET.encode() not in told(remote)
        for store in (remote, *(store for store, _ in clones)):
            assert [entry.created for entry in live(store)] == [0, 1, 2]


def test_acceptances_are_redacted_and_come_back_once(here: Store, there: Store, links: Links) -> None:
    notes.add(here, "check", "acceptance", f'{{"why":"{SECRET} knows","time":1}}'.encode())
    bring(here, there, Redacting(here, RULES, links))
    assert [note.content for note in notes.read(there, "check")] == [b'{"why":"someone knows","time":1}']
    assert not bring(there, here, Restoring(links)).notes
    assert len(notes.read(here, "check")) == 1


def test_a_dry_run_writes_nothing(here: Store, there: Store, links: Links) -> None:
    register(here, secret_profile())
    before = told(here)
    done = bring(here, there, Redacting(here, RULES, links, True), dry_run=True)
    assert (len(done.profiles), done.objects) == (1, 1)
    assert done.bytes > 0
    assert (told(here), told(there)) == (before, b"")
    assert links.path is not None
    assert not links.path.exists()


def test_links_of_two_pushes_at_once_are_both_kept(tmp_path: Path) -> None:
    first, second = Links.read(tmp_path / "redacted"), Links.read(tmp_path / "redacted")
    first.keep("1" * 40, "a" * 40)
    second.keep("2" * 40, "a" * 40)
    first.write()
    second.write()
    assert Links.read(tmp_path / "redacted").redacted("a" * 40) == ("1" * 40, "2" * 40)


def test_damaged_links_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "redacted").write_text(f"{'1' * 40} {'a' * 40}\n{'2' * 40} {'a' * 17}")
    with pytest.raises(FormatError, match="line 2"):
        Links.read(tmp_path / "redacted")


def test_rules_that_change_what_they_made_are_refused() -> None:
    with pytest.raises(UsageError, match="change again"):
        Rules(replace=((re.compile("a"), "aa"),)).text("banana")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="nothing can interrupt a regular expression here")
def test_a_rule_that_would_take_years_is_an_error_and_leaves_alarms_as_they_were() -> None:
    before, timer = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    rules = Rules(replace=((re.compile("(a+)+$"), "b"),), patience=0.1)
    with pytest.raises(UsageError, match=r"\(a\+\)\+\$.* takes over 0.1 s for .*aaab"):
        rules.text("a" * 40 + "b" + "c")
    assert rules.text("aa") == "b"
    assert signal.getsignal(signal.SIGALRM) == before
    assert [left > 0 for left in signal.getitimer(signal.ITIMER_REAL)] == [left > 0 for left in timer]


def test_a_redacted_profile_that_two_clones_tagged_is_listed_once_with_both_tags(tmp_path: Path) -> None:
    mine, shared, theirs = (Store(MemoryStorage()) for _ in range(3))
    links = Links(tmp_path / "redacted")
    entry = register(mine, secret_profile())

    def push() -> None:
        bring(mine, shared, Redacting(mine, RULES, links))

    def tag(store: Store, name: str) -> None:
        def swap(index: Index) -> Index:
            (current,) = index.live
            return indexes.add(indexes.bury(index, current), current._replace(tags=(name,)))

        store.update_index(VCS, VERSION, swap)

    push()
    bring(shared, theirs)
    tag(theirs, "theirs")
    tag(mine, "mine")
    bring(theirs, shared)
    for _ in range(2):
        push()
        bring(shared, mine, Restoring(links))
        bring(shared, theirs)
    assert [tuple(e.tags for e in live(store)) for store in (mine, shared, theirs)] == [(("mine", "theirs"),)] * 3
    assert [e.profile for e in live(mine)] == [entry.profile]
    assert bring(theirs, shared) == Transferred()


OTHER_RULES = Rules(frozenset({"host"}))
BY_NAME = {"all": RULES, "host": OTHER_RULES, "none": Rules()}
STEPS = (
    *(
        f"mine {verb}"
        for verb in ("push all", "push host", "push none", "pull", "tag x", "tag y", "untag x", "untag z")
    ),
    *(f"{clone} {verb}" for clone in ("theirs", "others") for verb in ("push", "pull", "tag z", "untag z", "untag x")),
    *("theirs push all", "theirs push host"),
)


class Team:
    """Three clones and their remote; `mine` measured the profile. Steps are `mine push RULES`, `theirs untag x`, ..."""

    def __init__(self) -> None:
        self.remote = Store(MemoryStorage())
        self.clones = {name: (Store(MemoryStorage()), Links()) for name in ("mine", "theirs", "others")}
        self.entry = register(self.clones["mine"][0], secret_profile())

    def take(self, step: str) -> None:
        name, verb, *words = step.split()
        clone, links = self.clones[name]
        if verb == "push":
            rules = BY_NAME[words[0]] if words else None
            bring(clone, self.remote, None if rules is None else Redacting(clone, rules, links))
        elif verb == "pull":
            bring(self.remote, clone, Restoring(links))
        elif index := live(clone):
            kept = tuple(tag for tag in index[0].tags if tag != words[0])
            self.retag(clone, (*kept, words[0]) if verb == "tag" else kept)

    def retag(self, clone: Store, tags: tuple[str, ...]) -> None:
        def swap(index: Index) -> Index:
            entry = index.live[0]
            if entry.tags == tags:
                return index
            return indexes.add(indexes.bury(index, entry), indexes.unburied(entry._replace(tags=tags), index))

        clone.update_index(VCS, VERSION, swap)

    def profiles(self) -> dict[str, list[str]]:
        stores = {"remote": self.remote, **{name: store for name, (store, _) in self.clones.items()}}
        return {name: [entry.profile for entry in live(store)] for name, store in stores.items()}


@pytest.mark.parametrize(
    "steps",
    [
        ["mine push all", "theirs pull", "theirs tag x", "mine push none", "theirs push", "mine push none"],
        [
            "mine push all",
            "theirs pull",
            "mine push none",
            "theirs tag x",
            "theirs push",
            "mine pull",
            "mine push none",
        ],
        ["mine push all", "mine push host", "mine push all", "mine tag x", "mine push none"],
        ["mine push all", "theirs pull", "theirs tag z", "theirs push", "mine tag x", "mine push host"],
    ],
    ids=["a copy is tagged", "originals are there", "rules return", "both tag"],
)
def test_what_earlier_rules_made_is_replaced_whatever_tags_it_got(steps: list[str]) -> None:
    team = Team()
    for step in steps:
        team.take(step)
    assert len(live(team.remote)) == 1
    tags = {tag for step in steps if " tag " in step for tag in step.split()[2:]}
    assert set(live(team.remote)[0].tags) == tags
    for _ in range(2):
        for step in ("mine pull", f"mine {'push host' if steps[-1] == 'mine push host' else 'push none'}"):
            team.take(step)
    assert [len(profiles) for profiles in (live(team.remote), live(team.clones["mine"][0]))] == [1, 1]


def test_who_takes_a_tag_off_a_copy_removes_no_profile() -> None:
    """It was tagged before it was sent, so that the entry without a tag was buried here and nowhere else."""
    team = Team()
    for step in ("mine tag x", "mine push all", "theirs pull", "theirs untag x", "theirs push", "mine pull"):
        team.take(step)
    assert [(entry.profile, entry.tags) for entry in live(team.clones["mine"][0])] == [(team.entry.profile, ())]
    team.take("mine push all")
    assert [entry.tags for entry in live(team.remote)] == [()]


def test_an_original_that_was_taken_off_does_not_leave_again_beside_a_tagged_copy() -> None:
    team = Team()
    steps = ["mine push all", "theirs pull", "mine push none", "others pull"]
    for step in (*steps, "theirs tag z", "theirs push"):
        team.take(step)
    other, _ = team.clones["others"]
    other.update_index(VCS, VERSION, lambda index: indexes.bury(index, index.live[0]))
    team.take("others push")
    team.take("mine push all")
    (entry,) = live(team.remote)
    assert entry.profile != team.entry.profile
    assert entry.tags == ("z",)


def test_pushes_pulls_tags_and_rules_in_any_order_double_and_lose_nothing() -> None:
    rng = random.Random(7)
    for _ in range(120):
        team, steps = Team(), rng.choices(STEPS, k=rng.randint(4, 16))
        for step in steps:
            team.take(step)
        last = next((step for step in reversed(steps) if step.startswith("mine push")), "mine push all")
        team.take(last)
        assert len(live(team.remote)) == 1, [*steps, last]  # also where nobody pulls
        theirs = next((step for step in reversed(steps) if step.startswith("theirs push")), "theirs push")
        for step in ("mine pull", last, "theirs pull", theirs, "others pull", "others push") * 3:
            team.take(step)
        assert {len(profiles) for profiles in team.profiles().values()} == {1}, steps
