#pragma once

// Counts test images that are also in the training set. An accuracy on those measures memory, so a report names their
// number.

#include <cstdint>
#include <vector>

#include "runtime/data/images/images.h"

namespace expc::data {

/// A 64-bit digest of an image's size and pixels. Equal images have equal digests within one build of the program;
/// digests must not be stored.
uint64_t digestOf(const Pixels& pixels);

/// Counts the elements of `some` that are among `all`.
int64_t countAmong(const std::vector<uint64_t>& some, const std::vector<uint64_t>& all);

/// Counts test images whose pixels equal those of a training image. Reads all images of both sets; images that cannot
/// be read do not count.
int64_t countAlike(const ImageSets& sets);

}  // namespace expc::data
