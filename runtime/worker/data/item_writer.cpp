#include "runtime/worker/data/item_writer.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "runtime/base/failure.h"

namespace expc::data {

llvm::Error ItemWriter::write(const std::vector<int64_t>& order, int64_t position, void* image, int64_t* label,
                              std::vector<uint8_t>& scratch, int64_t& skipped) const try {
  const auto count = static_cast<int64_t>(order.size());
  std::string first;
  for (int64_t tried = 0; tried < count + images_.count(); ++tried) {
    const int64_t index = tried < count ? order[static_cast<size_t>((position + tried) % count)] : tried - count;
    if (index < 0 || index >= images_.count())
      return base::failure("{}: image {} asked for, expected 0 to {}", images_.origin(), index, images_.count() - 1);
    llvm::Error error = preparer_.fill(images_, index, image, scratch);
    if (!error) {
      *label = images_.label(index);
      skipped += tried > 0 ? 1 : 0;
      return llvm::Error::success();
    }
    if (on_corrupt_ == OnCorrupt::Fail || !error.isA<CorruptImage>()) return error;
    if (on_corrupt_ == OnCorrupt::LeaveOut) {
      llvm::consumeError(std::move(error));
      std::memset(image, 0, imageBytes());
      *label = kLeftOut;
      ++skipped;
      return llvm::Error::success();
    }
    std::string message = llvm::toString(std::move(error));
    if (tried == 0) first = std::move(message);
  }
  return base::failure("{}: none of the {} images could be decoded; the first: {}", images_.origin(), images_.count(),
                       first);
} catch (const std::exception& error) {
  return base::failure("preparing a batch failed: {}", error.what());
}

}  // namespace expc::data
