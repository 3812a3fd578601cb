import os

# Before NumPy is imported: problems of tests are small, and threads of BLAS would wait for each other and other tests.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from hypothesis import settings  # noqa: E402

# A first call compiles, so a single example may take seconds.
settings.register_profile("setwise", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("search", deadline=None, max_examples=400)
settings.load_profile("setwise")
