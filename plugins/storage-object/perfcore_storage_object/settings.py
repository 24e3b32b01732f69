"""The settings of the storage `object`."""

from __future__ import annotations

import attrs

from perfcore.settings import option


@attrs.frozen
class ObjectStorageSettings:
    """Where the store is. Keys, regions and endpoints are read from the environment, as the provider's own tools do."""

    url: str = option(
        "",
        help="The bucket and the folder in it: s3://BUCKET/FOLDER, gs://BUCKET/FOLDER or az://CONTAINER/FOLDER.",
        metavar="URL",
    )
    recall: float = option(
        0.0,
        help="How long the list of all keys is remembered, and completed from the journal of the bucket.",
        unit="s",
        minimum=0,
    )
