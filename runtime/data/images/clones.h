#pragma once

// Function multiversioning for inner loops. The build targets plain x86-64 so that one program runs everywhere; loops
// marked with this still use AVX2 and AVX-512 where the machine has them.

/// Compiles a function once for each of these instruction sets; the dynamic linker chooses one when the program starts.
/// Off for other compilers, and for sanitizers, whose instrumentation would run in the resolver before they are set up.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define EXPC_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EXPC_CLONES
#endif
