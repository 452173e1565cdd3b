"""Stage 2, load: case files to Suite structs."""
