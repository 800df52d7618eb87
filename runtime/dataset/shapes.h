#pragma once

// Drawn colour images with a label, so that a study of photographs runs anywhere. Whole numbers only: the same
// arguments give the same pixels on every machine.

#include <cstdint>
#include <string>

namespace expc::dataset {

inline constexpr int64_t kMostShapeClasses = 64;                     // 8 forms in 8 colours
inline constexpr int64_t kSmallestShape = 16, kLargestShape = 1024;  // pixels, as the parameter `size`

/// "red_disc": the form and its colour make the class; each label below kMostShapeClasses has its own.
std::string shapeClass(int64_t label);

/// A form of the label's colour, turned, shifted and scaled, on a ground that says nothing about it; as rough as a
/// photograph, so that a JPEG of 300 x 300 has about 20 kB. `number` counts the images of a set. Writes size x size x 3
/// bytes.
void drawShape(int64_t label, int64_t size, uint64_t seed, bool test, int64_t number, uint8_t* out);

}  // namespace expc::dataset
