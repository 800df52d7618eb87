#pragma once

// What becomes of a decoded image before it is part of a batch.

#include <cstddef>
#include <cstdint>

namespace expc::data {

inline constexpr int64_t kChannels = 3;
/// ImageNet's mean and standard deviation of each channel, in units of 0 to 1: what torchvision's models are given.
inline constexpr double kMean[kChannels] = {0.485, 0.456, 0.406};
inline constexpr double kStd[kChannels] = {0.229, 0.224, 0.225};

/// Order of an image's dimensions in memory: Nchw is channels x rows x cols, Nhwc rows x cols x channels.
enum class Layout { Nchw, Nhwc };

/// Type of a prepared image's elements. UInt8 is never normalised.
enum class Element { UInt8, Float16, BFloat16, Float32, Float64 };

constexpr size_t bytesOf(Element element) {
  constexpr size_t kBytes[] = {1, 2, 2, 4, 8};
  return kBytes[static_cast<size_t>(element)];
}

/// How a batch's images look in the host's memory.
struct Preparation {
  int64_t rows = 0;  // scaled to, with antialiasing where an axis shrinks
  int64_t cols = 0;
  int64_t channels = 3;  // 3 of a grey image repeats it; 1 keeps it
  Layout layout = Layout::Nchw;
  Element element = Element::Float32;
  bool normalise = true;  // (v / 255 - mean) / std; false keeps 0..255

  size_t imageBytes() const { return static_cast<size_t>(rows * cols * channels) * bytesOf(element); }
};

}  // namespace expc::data
