"""Where shards run: in this process, in a pool of processes, or on a cluster. The results are the same bytes."""
