"""Results to and from Parquet: the only memory of a run. Reports, diffs and notebooks all read snapshots."""
