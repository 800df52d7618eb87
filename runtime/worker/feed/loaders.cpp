#include "runtime/worker/feed/loaders.h"

#include <utility>

#include "runtime/worker/dali/dali_loader.h"
#include "runtime/worker/data/dataloader.h"
#include "runtime/worker/data/native.h"

namespace expc::feed {
namespace {

llvm::Expected<std::unique_ptr<data::Batches>> openDataLoader(const LoaderChoice& choice, const data::Images& images,
                                                              data::BatchOptions batches, const data::Memory& memory) {
  data::DataLoaderOptions options;
  options.batches = std::move(batches);
  options.workers = choice.workers;
  options.prefetch = choice.prefetch;
  options.kind = choice.processes ? data::WorkerKind::Processes : data::WorkerKind::Threads;
  return data::makeDataLoader(images, std::move(options), memory);
}

llvm::Expected<std::unique_ptr<data::Batches>> openNative(const LoaderChoice& choice, const data::Images& images,
                                                          data::BatchOptions batches, const data::Memory& memory) {
  data::NativeOptions options;
  options.batches = std::move(batches);
  options.threads = choice.workers;
  options.prefetch = choice.prefetch;
  return data::makeNativeLoader(images, std::move(options), memory);
}

llvm::Expected<std::unique_ptr<data::Batches>> openDali(const LoaderChoice& choice, const data::Images& images,
                                                        data::BatchOptions batches) {
  dali::DaliOptions options;
  options.batches = std::move(batches);
  options.workers = choice.workers;
  options.prefetch = choice.prefetch;
  options.device = choice.device;
  options.stream = choice.stream;
  return dali::makeLoader(images, std::move(options));
}

}  // namespace

llvm::Expected<std::unique_ptr<data::Batches>> openLoader(const LoaderChoice& choice, const data::Images& images,
                                                          data::BatchOptions options, const data::Memory& memory) {
  switch (choice.kind) {
    case LoaderChoice::Kind::DataLoader:
      return openDataLoader(choice, images, std::move(options), memory);
    case LoaderChoice::Kind::Dali:
      return openDali(choice, images, std::move(options));
    case LoaderChoice::Kind::Native:
      return openNative(choice, images, std::move(options), memory);
  }
  return llvm::createStringError("no such loader");
}

}  // namespace expc::feed
