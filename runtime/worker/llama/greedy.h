#pragma once

// Greedy decoding: the likeliest token again and again, each by a pass over the whole text. Without a cache of keys and
// values it is slow, and there is nothing that could differ from training.

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/worker/llama/decoder.h"

namespace expc::llama {

/// Continues a prompt until `goes_on`, which is asked with the new tokens before each pass, says no. `agree` gives all
/// ranks of a sharded decoder the same token, the first rank's.
std::vector<int64_t> greedy(Decoder& decoder, ArrayRef<int64_t> prompt,
                            const std::function<bool(ArrayRef<int64_t>)>& goes_on,
                            const std::function<int64_t(int64_t)>& agree);

}  // namespace expc::llama
