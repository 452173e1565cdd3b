"""Benchmarks: time and memory of whole runs, against peers and against the limit; see docs/eval/benchmarks.md."""
