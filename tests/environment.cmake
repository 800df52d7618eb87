# Read by ctest before it starts tests: what all of them find in their environment.

# Tests share the cores. A thread that spins at the end of a parallel region takes one from a test that would work: with others beside it
# expc_worker_llama_test took 34 s instead of 3.
set(ENV{OMP_WAIT_POLICY} PASSIVE)

# Nor may they refuse each other the cores: tests of the leases have folders of their own.
set(ENV{EXPC_DEVICE_LOCKS} none)

# `python3` of trials is the distribution's, as on a bare system. The script of pyenv that stands before it takes longer than Python's own start.
set(ENV{PATH} "/usr/bin:$ENV{PATH}")
