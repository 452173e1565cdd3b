"""Stage 1, read: bytes to Trace structs; one file per trace format."""
