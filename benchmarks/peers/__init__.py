"""One module per tool that diagnosis-eval is measured against: its inputs, its command, and what it found."""
