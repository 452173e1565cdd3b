"""What shards give in the end, for tests that compare one way of judging them with another."""

from pathlib import Path

import msgspec
import polars as pl

from pipeline.engines.base import Engine
from pipeline.engines.collect import judge_shards
from pipeline.judging import Judging
from pipeline.noted import Noted
from pipeline.snapshot.merge import merge
from pipeline.snapshot.store import RowStore
from pipeline.sources.shards import Shard


def results(judging: Judging, shards: list[Shard], engine: Engine | None, folder: Path) -> tuple[pl.DataFrame, bytes]:
    """The rows of all shards in their final order, and what was noted."""
    folder.mkdir(exist_ok=True)
    store, noted = RowStore(folder), Noted()
    offsets = judge_shards(judging, shards, engine, store, noted, folder)
    order = merge(store.keys(offsets)).rows
    return pl.concat(list(store.in_order(order))), msgspec.json.encode(noted, order="sorted")
