#pragma once

// The loader `dali`: NVIDIA DALI prepares the batches, on the host or on a GPU.

#include <llvm/Support/Error.h>

#include <memory>

#include "runtime/worker/data/batches.h"

namespace expc::dali {

struct DaliOptions {
  data::BatchOptions batches;
  unsigned workers = 1;    // threads of DALI's pool; 0 prepares each batch inside next(), with one thread
  unsigned prefetch = 2;   // batches that DALI works ahead, all threads together; at least 1
  int device = -1;         // index of a GPU that decodes, scales and normalises; batches stay there. None: the host
  void* stream = nullptr;  // cudaStream_t on which the caller uses the batches of a GPU; null is CUDA's default stream
};

/// Whether this build has DALI; makeLoader's error says how to get it.
bool isBuilt();

/// Batches in the order of `batches.order`, as every other loader's: each image is handed to DALI by the path of its
/// file, or by its pixels where the set is not made of files, so DALI's own readers and shuffling are not used.
/// DALI keeps its batches in memory of its own; a batch may be kept as long as wanted, whatever `held` says.
///
/// `images` must live longer than the loader and its batches. An error when DALI is missing or does not start, or when
/// it cannot do what is asked: bfloat16, or skipping corrupt images. An image that cannot be decoded is named.
llvm::Expected<std::unique_ptr<data::Batches>> makeLoader(const data::Images& images, DaliOptions options);

}  // namespace expc::dali
