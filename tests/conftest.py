"""What holds for all tests."""

from hypothesis import settings

# How long an example takes says more of the machine than of the code: time is measured by the benchmark, never here.
settings.register_profile("project", deadline=None)
settings.load_profile("project")
