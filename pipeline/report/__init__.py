"""Stage 9, report: one file per writer; `model` is all that a writer sees."""
