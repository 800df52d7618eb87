#pragma once

// Recognises a data set on the disk, and checks whether all of it can be read.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/parallel.h"
#include "runtime/data/images/images.h"
#include "runtime/data/images/open.h"

namespace expc::dataset {

/// The data set at a path: IDX files, class folders or a packed file. The error says what was looked for.
llvm::Expected<data::Source> recognise(const std::string& path);
/// "mnist", "folder", "packed": as a study writes it.
const char* toString(data::Source::Kind kind);

struct ClassCount {
  std::string name;
  int64_t train = 0, test = 0;
};

struct Info {
  data::Source::Kind kind;
  std::vector<ClassCount> classes;  // by label
  int64_t train = 0, test = 0;
  data::Shape smallest, largest;     // each side by itself; channels as decoded
  int64_t jpeg = 0, png = 0;         // files, by what they begin with
  int64_t unreadable = 0;            // files whose header says no size
  std::optional<uint64_t> checksum;  // of a packed file, as its header holds it
};

/// Reads headers, decodes nothing.
llvm::Expected<Info> inspect(const data::Source& source, unsigned threads, const base::Tick& tick = nullptr);

struct Verified {
  int64_t images = 0;
  std::vector<std::string> damaged;    // what is wrong, naming the file or the image; in order
  int64_t test = 0, also_trained = 0;  // test images, and those with the pixels of a training image
};

/// Decodes every image, or checks its sum.
llvm::Expected<Verified> verify(const data::Source& source, unsigned threads, const base::Tick& tick = nullptr);

}  // namespace expc::dataset
