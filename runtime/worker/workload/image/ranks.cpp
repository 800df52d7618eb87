#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>

#include "runtime/worker/comm/data_parallel.h"
#include "runtime/worker/workload/image/parallel.h"

namespace expc::workload::image {
namespace {

class Ranks final : public Parallel {
 public:
  Ranks(comm::Communicator& communicator, model::MobileNetV2& model) : model_(model) {
    if (communicator.worldSize() > 1)
      parallel_.emplace(communicator, model.parameterTensors(), model::tensorsOf(model.buffers()));
  }

  at::Tensor forward(const at::Tensor& images) override {
    if (parallel_) parallel_->beforeForward();
    return model_.forward(images);
  }
  void backward(const at::Tensor& loss) override {
    if (parallel_) parallel_->beforeBackward();
    loss.backward();
  }
  void settle() override {
    if (parallel_) parallel_->settle();
  }
  void beginEvaluation() override {
    if (parallel_) parallel_->shareBuffers();
  }
  at::Tensor evaluate(const at::Tensor& images) override {
    at::NoGradGuard no_grad;
    model_.setTraining(false);
    auto logits = model_.forward(images);
    model_.setTraining(true);
    return logits;
  }
  std::vector<at::Generator> generators() const override {
    std::vector<at::Generator> result = {at::detail::getDefaultCPUGenerator()};
    const c10::Device device = model_.parameterTensors().front().device();
    if (!device.is_cpu()) result.push_back(at::globalContext().defaultGenerator(device));
    return result;
  }

 private:
  model::MobileNetV2& model_;
  std::optional<comm::DataParallel> parallel_;  // a single rank has nobody to share with
};

}  // namespace

std::unique_ptr<Parallel> makeRanks(comm::Communicator& communicator, model::MobileNetV2& model) {
  return std::make_unique<Ranks>(communicator, model);
}

}  // namespace expc::workload::image
