"""Drafts of case files for a person to trim: from other tools' test cases, and from good traces."""
