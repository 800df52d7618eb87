#pragma once

// Looks at every image of a set: classes and their balance, sizes, turned pictures, copies within and across the parts,
// files that are no images. Inspecting reads the headers that `inspect` reads, and decodes every image as `verify`
// does.

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/base/parallel.h"
#include "runtime/data/dataset/inspect.h"
#include "runtime/data/dataset/problems.h"

namespace expc::dataset {

/// A description of a set. `info` is absent if the set cannot be opened, which is a problem then.
struct ImagesReport {
  std::optional<Info> info;
  int64_t turned = 0;             // files whose EXIF header turns or mirrors them
  std::vector<int64_t> pixels;    // rows x columns of every image that can be decoded
  std::vector<Problem> problems;  // worst first
};

/// Inspects a set. An error is only what `tick` returns.
Expected<ImagesReport> inspectImages(const data::Source& source, unsigned threads, const base::Tick& tick = nullptr);

}  // namespace expc::dataset
