#pragma once

// Recognises a data set on the disk, describes it, and checks whether all of it can be read: `expc data info` and `expc
// data verify`. Reading is left to runtime/data/images, so that the check and a trial agree on what is readable.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/base/parallel.h"
#include "runtime/data/images/images.h"
#include "runtime/data/images/open.h"

namespace expc::dataset {

/// The kind of data set at a path: IDX files, class folders or a packed file. Any file counts as packed; opening it
/// says more. The error says what was looked for.
Expected<data::Source> recognise(const std::string& path);
/// The kind as a study writes it: "mnist", "folder", "packed".
const char* toString(data::Source::Kind kind);

/// A class, and its images in each set.
struct ClassCount {
  std::string name;
  int64_t train = 0, test = 0;
};

/// A description of a data set.
struct Info {
  data::Source::Kind kind;
  std::vector<ClassCount> classes;  // by label
  int64_t train = 0, test = 0;
  data::Shape smallest, largest;     // each side by itself; channels as decoded
  int64_t jpeg = 0, png = 0;         // numbers of files, by their first bytes
  int64_t unreadable = 0;            // files whose header states no valid size
  std::optional<uint64_t> checksum;  // of a packed file: header_sum of its header
};

/// Describes a data set from labels and headers; decodes nothing. `tick` is called as work proceeds.
Expected<Info> inspect(const data::Source& source, unsigned threads, const base::Tick& tick = nullptr);

/// The result of reading every image.
struct Verified {
  int64_t images = 0;
  std::vector<std::string> damaged;    // a message for each unreadable image, in the order of the set
  int64_t test = 0, also_trained = 0;  // test images, and how many of them have the pixels of a training image
};

/// Decodes every image, or checks its sum if the file is packed. Unreadable images are no error of this function.
Expected<Verified> verify(const data::Source& source, unsigned threads, const base::Tick& tick = nullptr);

}  // namespace expc::dataset
