#pragma once

// Images of a test set that are in the training set, too: an accuracy on them measures memory.

#include <cstdint>
#include <vector>

#include "runtime/data/images/images.h"

namespace expc::data {

/// Digests the pixels of an image: equal for images of equal size and pixels, in one build.
uint64_t digestOf(const Pixels& pixels);

/// Counts the elements of `some` that are among `all`.
int64_t countAmong(const std::vector<uint64_t>& some, const std::vector<uint64_t>& all);

/// Counts test images that have the pixels of a training image. Reads all images; those that cannot be read count as
/// none.
int64_t countAlike(const ImageSets& sets);

}  // namespace expc::data
