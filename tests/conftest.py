from hypothesis import settings

# A first call compiles, so a single example may take seconds.
settings.register_profile("setwise", deadline=None, derandomize=True, max_examples=80)
settings.register_profile("search", deadline=None, max_examples=400)
settings.load_profile("setwise")
