// A set of images held as tensors.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/parallel.h"
#include "runtime/worker/data/open.h"
#include "runtime/worker/data/preparer.h"

namespace expc::data {
namespace {

class Preloaded : public Images {
 public:
  Preloaded(std::unique_ptr<Images> source, const Preparation& preparation)
      : source_(std::move(source)),
        shape_{preparation.rows, preparation.cols, preparation.channels},
        values_of_one_(preparation.rows * preparation.cols * preparation.channels),
        values_(new float[static_cast<size_t>(source_->count() * values_of_one_)]) {}

  int64_t count() const override { return source_->count(); }
  int64_t classes() const override { return source_->classes(); }
  const std::string& origin() const override { return source_->origin(); }
  std::optional<Shape> shape() const override { return shape_; }
  int64_t label(int64_t index) const override { return source_->label(index); }
  std::string className(int64_t label) const override { return source_->className(label); }
  std::string file(int64_t index) const override { return source_->file(index); }
  llvm::Expected<Pixels> read(int64_t index, std::vector<uint8_t>&) const override {
    return Pixels{nullptr, shape_.rows, shape_.cols, shape_.channels, place(index)};
  }

  float* place(int64_t index) const { return values_.get() + index * values_of_one_; }

 private:
  std::unique_ptr<Images> source_;
  Shape shape_;
  int64_t values_of_one_;
  std::unique_ptr<float[]> values_;  // not initialised before an image is there
};

}  // namespace

llvm::Expected<std::unique_ptr<Images>> preload(std::unique_ptr<Images> images, Preparation preparation) {
  preparation.element = Element::Float32;
  preparation.normalise = false;
  const Preparer preparer(preparation);
  const Images& source = *images;
  auto loaded = std::make_unique<Preloaded>(std::move(images), preparation);
  const auto work = [&](int64_t item) {
    thread_local std::vector<uint8_t> decoded;
    return preparer.fill(source, item, loaded->place(item), decoded);
  };
  if (auto error = base::forEach(source.count(), base::allCores(), work)) return error;
  return loaded;
}

}  // namespace expc::data
