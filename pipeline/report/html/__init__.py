"""The HTML report: one self-contained file, made of these pieces and the assets beside them."""
