#pragma once

// The loaders by name. Each is a data::Batches; what is their own is chosen here.

#include <llvm/Support/Error.h>

#include <memory>

#include "runtime/worker/data/batches.h"
#include "runtime/worker/data/images.h"

namespace expc::feed {

/// Who prepares batches, and the parameters that are the loader's own.
struct LoaderChoice {
  enum class Kind { DataLoader, Dali, Native } kind = Kind::DataLoader;
  unsigned workers = 1;    // 0: the training thread prepares them
  bool processes = false;  // DataLoader: workers are processes, not threads
  unsigned prefetch = 2;   // batches each worker prepares ahead; Dali: all of them together
  int device = -1;         // Dali: the GPU that prepares batches and keeps them; none: the host
  void* stream = nullptr;  // Dali: the cudaStream_t in which its batches are used
};

/// `images` must live longer than what is returned.
llvm::Expected<std::unique_ptr<data::Batches>> openLoader(const LoaderChoice& choice, const data::Images& images,
                                                          data::BatchOptions options, const data::Memory& memory);

}  // namespace expc::feed
