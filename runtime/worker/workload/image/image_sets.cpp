#include "runtime/worker/workload/image/image_sets.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/Path.h>

#include "runtime/worker/data/image_set.h"

namespace expc::workload::image {
namespace {

/// A set that is held in memory.
class MemoryImages final : public data::Images {
 public:
  explicit MemoryImages(data::ImageSet set) : set_(std::move(set)) {}
  int64_t count() const override { return set_.count; }
  int64_t classes() const override { return set_.classes; }
  const std::string& origin() const override { return set_.origin; }
  std::optional<data::Shape> shape() const override { return data::Shape{set_.rows, set_.cols, 1}; }
  int64_t label(int64_t index) const override { return set_.labels[static_cast<size_t>(index)]; }
  llvm::Expected<data::Pixels> read(int64_t index, std::vector<uint8_t>&) const override {
    return data::Pixels{set_.image(index), set_.rows, set_.cols, 1};
  }

 private:
  data::ImageSet set_;
};

}  // namespace

llvm::Expected<data::ImageSets> openImages(const Data& data, llvm::StringRef root) {
  auto read = [&]() -> llvm::Expected<data::Dataset> {
    if (data.kind == Data::Kind::Synthetic) return data::synthetic(data.count);
    llvm::SmallString<256> path(data.path);
    if (llvm::sys::path::is_relative(path)) {
      path = root;
      llvm::sys::path::append(path, data.path);
    }
    return data::readMnist(path.str().str());
  }();
  if (!read) return read.takeError();
  return data::ImageSets{std::make_unique<MemoryImages>(std::move(read->train)),
                         std::make_unique<MemoryImages>(std::move(read->test))};
}

}  // namespace expc::workload::image
