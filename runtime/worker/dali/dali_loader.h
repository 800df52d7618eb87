#pragma once

// The loader `dali`: NVIDIA DALI prepares the batches, on the host or on a GPU.

#include <memory>

#include "runtime/base/llvm.h"
#include "runtime/data/images/batches.h"

namespace expc::dali {

/// Which decodes, scales and normalises; batches stay there.
struct Gpu {
  int index = -1;          // none: the host
  void* stream = nullptr;  // cudaStream_t on which the caller uses the batches; null is CUDA's default stream
};

/// Whether this build has DALI; makeLoader's error says how to get it.
bool isBuilt();

/// Batches in the order of `options.order`, as every other loader's: each image is handed to DALI by the path of its
/// file, or by its pixels where the set is not made of files, so DALI's own readers and shuffling are not used.
/// DALI keeps its batches in memory of its own; a batch may be kept as long as wanted, whatever `held` says. `workers`
/// are the threads of its pool, with one more where they are 0, and all of them together work `prefetch` batches ahead.
///
/// `images` must live longer than the loader and its batches. An error when DALI is missing or does not start, or when
/// it cannot do what is asked: bfloat16, or skipping corrupt images. An image that cannot be decoded is named.
Expected<std::unique_ptr<data::Batches>> makeLoader(const data::Images& images, data::LoaderOptions options,
                                                    Gpu gpu = {});

}  // namespace expc::dali
