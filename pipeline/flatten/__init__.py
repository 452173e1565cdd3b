"""Stage 3, flatten: structs to frames. What a spelling, a blank or a flag means is decided here, once."""
