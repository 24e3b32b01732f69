"""The contract of the kind `vcs`. A plugin's whole test of it is

    from perfcore_testing.vcs import Script, VcsContract

    class MyScript(Script):
        ...  # how a user commits, branches and merges in this system

    class TestContract(VcsContract):
        @pytest.fixture
        def script(self, tmp_path):
            return MyScript(tmp_path / "project")

        @pytest.fixture
        def driver(self, script):
            return MyVcs(script.root)

The script makes an empty repository; give its folder a name with blanks, quotes and letters beyond ASCII. What
the system cannot do is said by the flags of `VcsContract`. Where `type(driver)(root)` is not how to open another
working tree, override `opened`. Some tests open the repository in another process, by the driver's class.
"""

from __future__ import annotations

from perfcore_testing.vcs.files import FileLaws
from perfcore_testing.vcs.history import HistoryLaws
from perfcore_testing.vcs.in_place import StateLaws
from perfcore_testing.vcs.optional import OptionalLaws
from perfcore_testing.vcs.script import Script, content


class VcsContract(HistoryLaws, FileLaws, OptionalLaws, StateLaws):
    """Every law of the kind. The flags of `perfcore_testing.vcs.base.VcsLaws` say what a system cannot do."""


__all__ = ["Script", "VcsContract", "content"]
