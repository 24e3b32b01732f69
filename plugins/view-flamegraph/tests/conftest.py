"""A headless Chromium for the tests that look at a page. Where it or a package is missing they are skipped."""

from perfcore_testing.pages import axe, browser, window

__all__ = ["axe", "browser", "window"]
