#include "runtime/worker/feed/loaders.h"

#include <utility>

#include "runtime/worker/dali/dali_loader.h"
#include "runtime/worker/data/dataloader.h"
#include "runtime/worker/data/native.h"

namespace expc::feed {

llvm::Expected<std::unique_ptr<data::Batches>> openLoader(const LoaderChoice& choice, const data::Images& images,
                                                          data::BatchOptions options, const data::Memory& memory) {
  switch (choice.kind) {
    case LoaderChoice::Kind::DataLoader:
      return data::makeDataLoader(images,
                                  {std::move(options), choice.workers, choice.prefetch,
                                   choice.processes ? data::WorkerKind::Processes : data::WorkerKind::Threads},
                                  memory);
    case LoaderChoice::Kind::Dali:
      return dali::makeLoader(images,
                              {std::move(options), choice.workers, choice.prefetch, choice.device, choice.stream});
    case LoaderChoice::Kind::Native:
      return data::makeNativeLoader(images, {std::move(options), choice.workers, choice.prefetch}, memory);
  }
  return llvm::createStringError("no such loader");
}

}  // namespace expc::feed
