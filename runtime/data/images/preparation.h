#pragma once

// The form of the images in a batch: size, channels, layout, type of elements, normalisation. preparer.h brings decoded
// images into it.

#include <cstddef>
#include <cstdint>

namespace expc::data {

/// Channels of a colour image.
inline constexpr int64_t kChannels = 3;
/// ImageNet's mean and standard deviation of each channel, for pixels from 0 to 1, as torchvision's models expect.
inline constexpr double kMean[kChannels] = {0.485, 0.456, 0.406};
inline constexpr double kStd[kChannels] = {0.229, 0.224, 0.225};

/// The order of an image's dimensions in memory: Nchw is channels x rows x cols, Nhwc rows x cols x channels.
enum class Layout { Nchw, Nhwc };

/// The type of an element. UInt8 is never normalised.
enum class Element { UInt8, Float16, BFloat16, Float32, Float64 };

/// Bytes of one element.
constexpr size_t bytesOf(Element element) {
  constexpr size_t kBytes[] = {1, 2, 2, 4, 8};
  return kBytes[size_t(element)];
}

/// The form of a batch's images in the host's memory.
struct Preparation {
  int64_t rows = 0;  // images are scaled to these sizes, with antialiasing where an axis shrinks
  int64_t cols = 0;
  int64_t channels = 3;  // 3 repeats a grey image's channel; 1 is for grey images only
  Layout layout = Layout::Nchw;
  Element element = Element::Float32;
  bool normalise = true;  // (v / 255 - mean) / std; false keeps 0 to 255

  /// Bytes of one prepared image.
  size_t imageBytes() const { return size_t(rows * cols * channels) * bytesOf(element); }
};

}  // namespace expc::data
