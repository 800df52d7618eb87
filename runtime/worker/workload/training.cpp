#include "runtime/worker/workload/training.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "runtime/base/failure.h"
#include "runtime/worker/model/state_file.h"

namespace expc::workload {

void Training::begin(bool pin_memory) {
  if (pin_memory && !context_.device.pinnedMemory())
    notes_.push_back("pin_memory has no effect: there is no accelerator, so batches stay in ordinary memory");
  context_.progress.report(0, 1, "load");
}

void Training::connect() {
  auto first = at::zeros({1}, at::TensorOptions(at::kFloat).device(context_.device.torchDevice()));
  context_.communicator.allReduce(first, comm::Reduction::Sum);
  context_.device.synchronize();
}

llvm::Expected<std::vector<double>> Training::takeLosses() {
  std::vector<double> sums;
  if (!losses_.empty()) {
    const auto all = at::stack(losses_).to(at::kCPU, at::kDouble).contiguous();
    sums.assign(all.const_data_ptr<double>(), all.const_data_ptr<double>() + all.numel());
  }
  losses_.clear();
  sums = context_.communicator.allReduce(std::move(sums), comm::Reduction::Sum);
  const int64_t first = steps_done_ - static_cast<int64_t>(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    const int64_t step = first + static_cast<int64_t>(i) + 1;
    if (!std::isfinite(sums[i]))
      return llvm::createStringError(
          step == 1
              ? std::string("the loss of step 1, before anything is learned, is not finite: weights or data that "
                            "were read hold NaN or infinity, or overflow in this precision")
              : fmt::format("the loss of step {} is not finite: the training diverged; lower learning_rate or use a "
                            "wider precision",
                            step));
    sums[i] /= partsOfLoss();
  }
  return sums;
}

llvm::Expected<at::Tensor> Training::restoreOptimizer(
    optim::Optimizer& optimizer, const io::SafeTensors& rest, llvm::StringRef own,
    const std::function<llvm::Expected<at::Tensor>(const io::TensorInfo&)>& read) {
  const std::string prefix = optimizerName("");
  optim::Optimizer::State state;
  at::Tensor result;
  for (const io::TensorInfo& info : rest.tensors()) {
    auto tensor = read(info);
    if (!tensor) return tensor.takeError();
    llvm::StringRef name = info.name;
    if (name == own)
      result = *tensor;
    else if (name.consume_front(prefix))
      state.emplace_back(name.str(), *tensor);
    else
      return base::failure("{}: tensor {} means nothing to this build", rest.path(), info.name);
  }
  if (auto error = optimizer.restore(state))
    return base::failure("{}: {}", rest.path(), llvm::toString(std::move(error)));
  return result;
}

std::vector<Metric> metricsOf(const std::vector<profile::Measure>& timed, const Judged& judged) {
  using plan::TrialKind;
  std::vector<Metric> all;
  const auto add = [&](const std::vector<profile::Measure>& measures, TrialKind kind) {
    for (const profile::Measure& measure : measures) all.push_back({measure.name, kind});
  };
  add(timed, TrialKind::Timed);
  add(timedMetrics(Clocked()), TrialKind::Timed);
  add(judged.metrics, TrialKind::Quality);
  for (const auto& series : judged.series) all.push_back({series.first, TrialKind::Quality});
  add(profileMetrics(), TrialKind::Profile);
  return all;
}

llvm::Error runSteps(TrialContext& context, Training& training, int64_t count, std::string_view phase, bool marked) {
  for (int64_t i = 0; i < count; ++i) {
    auto more = training.step();
    if (!more) return more.takeError();
    if (marked) context.device.mark();
    context.progress.report(static_cast<uint64_t>(i + 1), static_cast<uint64_t>(count), phase);
  }
  return llvm::Error::success();
}

llvm::Expected<plan::Event> runTraining(TrialContext& context, const Settings& settings, const std::string& checkpoints,
                                        const MakeTraining& make) {
  if (context.spec.kind == plan::TrialKind::Quality) return qualityTrial(context, settings.epochs, checkpoints, make);
  auto created = make(0);
  if (!created) return created.takeError();
  Training& training = context.keep(std::move(*created));
  const Settings lengths = settings.over(training.stepsPerEpoch());
  auto result = context.spec.rehearsal                        ? rehearse(context, training, lengths)
                : context.spec.kind == plan::TrialKind::Timed ? timedTrial(context, training, lengths)
                                                              : profileTrial(context, training, lengths);
  if (result) training.describe(result->environment);
  return result;
}

}  // namespace expc::workload
