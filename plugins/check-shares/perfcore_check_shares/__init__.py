"""Compares the shares of functions in two profiles of fleets: more, less, moved, the same, or not enough samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from perfcore.settings import option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfcore.model import Change, Pairing


@attrs.frozen
class SharesSettings:
    """What a change has to exceed to count."""

    threshold: float = option(
        0.01, help="Smallest difference that matters, as a share of all samples (0.01 is 1 %).", minimum=1e-6, maximum=1
    )
    # The usual level; it holds for all functions of a comparison together.
    confidence: float = option(0.95, help="Level of all intervals together.", minimum=0.5, maximum=0.9999)


class SharesCheck:
    """The check `shares`: functions that take another share of the samples, with hosts and times as replicates."""

    Settings = SharesSettings
    contract = "perfcore_check_shares.contract:SharesContract"

    def __init__(self, settings: SharesSettings | None = None) -> None:
        self.settings = settings or SharesSettings()

    def compare(self, pairing: Pairing) -> Sequence[Change]:
        from perfcore_check_shares.comparison import compare

        return compare(pairing, self.settings)
