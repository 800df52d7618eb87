#include "runtime/worker/data/stream.h"

namespace expc::data::stream {

bool usable() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("bmi2") &&
                          __builtin_cpu_supports("fma");
  return has;
#else
  return false;
#endif
}

}  // namespace expc::data::stream
