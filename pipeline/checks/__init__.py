"""Stage 4, judge: one decorated function per check, grouped by what it looks at."""
