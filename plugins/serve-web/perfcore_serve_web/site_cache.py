"""The site that is served, made again when the store changes, and its pages, each made once.

Pages are made by one thread, one at a time: they need the interpreter all the while, and a store is used by one thread.
While a history is derived, which takes seconds for a long one, another thread does it with a repository of its own, and
pages are those of the history before; the first time, a page that says so stands for all of them.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import attrs
from perfcore_site_kit.page_types import Draft
from perfcore_site_kit.site import Mode, Page, Site, SiteOptions

from perfcore.model.listener import SilentListener
from perfcore.repository.repository import Repository
from perfcore.text import plural

if TYPE_CHECKING:
    from types import TracebackType

    from perfcore_site_kit.paths import PagePath

_PAGES = 32 * 2**20  # bytes of pages that are kept
_LOOK = 1.0  # seconds between two looks whether the store has changed
_RESTS = 10  # times as long as it took, before a changed history is derived again: measurements run beside it
_PATIENCE_AFTER_WRITING = 5.0  # seconds
_PATIENCE = 0.3  # seconds that a visitor waits for a changed history, rather than to see the one before
_PATIENCE_AT_FIRST = 0.2  # seconds: with what both threads import meanwhile, a page is there within one of the start


@attrs.frozen(kw_only=True)
class TaggedPage:
    """A page with a tag that changes with its content. It may stand for one that is not there yet."""

    page: Page
    tag: str
    is_ready: bool = True


class _Progress(SilentListener):
    """How far the comparison has come, in words."""

    text = "Its profiles are read."

    def progress(self, done: int, total: int, text: str) -> None:
        self.text = f"{done:,} of {plural(total, 'series', 'series')} compared."


class SiteCache:
    """The current site of a repository. A context: it ends its threads."""

    def __init__(self, repository: Repository, head: str | None = None) -> None:
        self._repository = repository
        self._options = SiteOptions(head=head)
        self._site = Site(repository, self._options)
        self._worker = ThreadPoolExecutor(1, "pages")
        self._refresher = ThreadPoolExecutor(1, "refresh")
        self._looked = 0.0
        self._pause = _LOOK
        self._patience = _PATIENCE_AT_FIRST
        self._progress = _Progress()
        self._refreshing: Future[Site | None] | None = None
        self._pages: OrderedDict[tuple[PagePath, Mode], TaggedPage] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def __enter__(self) -> SiteCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._worker.shutdown(cancel_futures=True)
        self._refresher.shutdown(cancel_futures=True)

    def submit(self, address: str, mode: Mode) -> Future[TaggedPage]:
        """The page of an address, when it is made. NotFoundError where there is none."""
        return self._worker.submit(self._page, address, mode)

    def submit_draft(self, address: str, mode: Mode, draft: Draft) -> Future[Page]:
        """The same with a form that is filled in. It is not kept."""
        return self._worker.submit(lambda: self._site.render(self._site.parse(address), mode, draft))

    def call(self, work: Callable[[Site], object]) -> Future[object]:
        """Anything else that uses the store, in the same thread. It does not look whether the store has changed."""
        return self._worker.submit(lambda: work(self._site))

    def look(self) -> None:
        """Have the next page look whether the store has changed, and wait for what follows: a decision is to be seen
        at once."""
        self._looked, self._pause, self._patience = 0.0, _LOOK, _PATIENCE_AFTER_WRITING

    def _page(self, address: str, mode: Mode) -> TaggedPage:
        site = self._current()
        path = site.parse(address)
        if not site.is_derived:
            return TaggedPage(page=site.render_waiting(path, mode, self._progress.text), tag="", is_ready=False)
        cached_page = self._pages.get((path, mode))
        if cached_page is not None:
            self._pages.move_to_end((path, mode))
            return cached_page
        page = site.render(path, mode)
        tagged = TaggedPage(page=page, tag=hashlib.sha256(page.content).hexdigest()[:32])
        if site.is_lasting(path):
            self._keep((path, mode), tagged)
        return tagged

    def _keep(self, key: tuple[PagePath, Mode], tagged: TaggedPage) -> None:
        self._pages[key] = tagged
        self._size += len(tagged.page.content)
        while self._size > _PAGES:
            _, dropped = self._pages.popitem(last=False)
            self._size -= len(dropped.page.content)

    def _current(self) -> Site:
        """The site as the store is now, or was when the last look was made; at first, one that is not derived."""
        if self._refreshing is None and time.monotonic() - self._looked > self._pause:
            if self._site.is_derived and self._site.is_current():
                self._looked = time.monotonic()
            else:
                self._refreshing = self._refresher.submit(self._refreshed)
        if self._refreshing is not None:
            self._take(self._refreshing)
        return self._site

    def _take(self, refreshing: Future[Site | None]) -> None:
        """Its site, if it is there in time. What went wrong is told once, and tried again at the next look."""
        try:
            site = refreshing.result(timeout=self._patience)
        except TimeoutError:
            return
        except BaseException:
            self._refreshing, self._looked = None, time.monotonic()
            raise
        self._refreshing, self._patience = None, _PATIENCE
        self._looked = time.monotonic()
        if site is not None:
            self._site = site
            self._pages.clear()
            self._size = 0

    def _refreshed(self) -> Site | None:
        """A new site of the same repository, derived."""
        old = self._repository
        repository = Repository.open(old.cwd, plugins=old.plugins, places=old.places)
        site = Site(repository, self._options, self._progress)
        started = time.monotonic()
        site.refresh()
        self._pause = max(_LOOK, _RESTS * (time.monotonic() - started))
        return site
