#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runtime/base/format.h"
#include "runtime/worker/model/mobilenet_v2.h"
#include "runtime/worker/model/optimizer.h"
#include "runtime/worker/model/state_file.h"
#include "tests/parity/fixtures.h"

// Fixtures come from torchvision 0.26 in fp32; tolerances are those that two correct fp32 implementations meet
// (golden/mobilenetv2; fp64 is held to the same ones, since the fixture's own rounding is in the difference).

namespace expc::parity {
namespace {

struct Variant {
  const char* name;
  at::ScalarType dtype;
  bool channels_last;
  bool own_kernels;
};
const Variant kVariants[] = {
    {"fp32 nchw", at::kFloat, false, true},         {"fp32 nhwc", at::kFloat, true, true},
    {"fp64 nchw", at::kDouble, false, true},        {"fp64 nhwc", at::kDouble, true, true},
    {"fp64 nchw torch", at::kDouble, false, false}, {"fp64 nhwc torch", at::kDouble, true, false}};

struct MobileNetFixture {
  safetensors::File io = openTensors("mobilenetv2/io.safetensors");
  json::Value json = readJson("mobilenetv2/io.json");
  at::Tensor target = tensorOf(io, "target");

  at::Tensor expected(const std::string& name) const { return tensorOf(io, name); }
  double number(const char* name) const { return json.getAsObject()->getNumber(name).value(); }
  at::Tensor images(const Variant& variant) const {
    const auto type = at::TensorOptions().dtype(variant.dtype);
    const auto mean = at::tensor({0.485, 0.456, 0.406}, type).view({1, 3, 1, 1});
    const auto std = at::tensor({0.229, 0.224, 0.225}, type).view({1, 3, 1, 1});
    const auto x = (tensorOf(io, "input_u8").to(variant.dtype) / 255 - mean) / std;
    return variant.channels_last ? x.contiguous(at::MemoryFormat::ChannelsLast) : x;
  }
};

/// Width 0.25, ten classes, the fixture's weights; no dropout, as in the fixture.
model::MobileNetV2 makeModel(const Variant& variant) {
  model::MobileNetV2Options options;
  options.width = 0.25;
  options.dropout = 0;
  options.dtype = variant.dtype;
  options.channels_last = variant.channels_last;
  options.own_kernels = variant.own_kernels;
  model::MobileNetV2 net(options, 99);
  const auto error = toString(model::loadState(openTensors("mobilenetv2/model_w025.safetensors"), net.stateDict()));
  REQUIRE_MESSAGE(error.empty(), error);
  return net;
}

at::Tensor find(const std::vector<model::NamedTensor>& list, const std::string& name) {
  for (const auto& entry : list)
    if (entry.name == name) return entry.tensor;
  FAIL(name);
  return {};
}

TEST_CASE("names, order and shapes are torchvision's") {
  model::MobileNetV2Options options;
  options.classes = 1000;
  const model::MobileNetV2 net(options, 0);
  const MobileNetFixture fixture;
  const auto& wanted = *fixture.json.getAsObject()->getArray("state_dict_shapes_width1");
  const auto state = net.stateDict();
  REQUIRE(state.size() == 314);
  REQUIRE(wanted.size() == 314);
  for (size_t i = 0; i < state.size(); ++i) {
    const auto& entry = *wanted[i].getAsArray();
    CHECK(state[i].name == entry[0].getAsString()->str());
    CHECK(state[i].tensor.sizes().vec() == integers(*entry[1].getAsArray()));
  }
  CHECK(net.parameters().size() == 158);
  CHECK(net.buffers().size() == 156);
}

TEST_CASE("parameter counts") {
  const MobileNetFixture fixture;
  const auto& counts = *fixture.json.getAsObject()->getObject("param_counts");
  const auto count = [](double width, int64_t classes) {
    model::MobileNetV2Options options;
    options.width = width;
    options.classes = classes;
    int64_t total = 0;
    for (const auto& tensor : model::MobileNetV2(options, 0).parameterTensors()) total += tensor.numel();
    return total;
  };
  CHECK(count(1, 1000) == *counts.getInteger("width1_classes1000"));
  CHECK(count(1, 10) == *counts.getInteger("width1_classes10"));
  CHECK(count(0.25, 10) == *counts.getInteger("width0.25_classes10"));
}

TEST_CASE("initial weights are torch's after manual_seed") {
  const auto cases = readJson("init.json");
  for (const auto& value : *cases.getAsArray()) {
    const auto& wanted = *value.getAsObject();
    for (const bool channels_last : {false, true}) {
      model::MobileNetV2Options options;
      options.width = *wanted.getNumber("width");
      options.channels_last = channels_last;
      const model::MobileNetV2 net(options, uint64_t(*wanted.getInteger("seed")));
      size_t layer = 0;
      for (const auto& [name, tensor] : net.parameters()) {
        if (tensor.dim() < 2) {
          const bool scale = name.size() > 7 && name.substr(name.size() - 7) == ".weight";
          CHECK(difference(tensor, at::full_like(tensor, scale ? 1 : 0)) == 0);
          continue;
        }
        const auto flat = tensor.detach().contiguous().reshape(-1);
        const auto first = numbers(*(*wanted.getArray("first"))[layer].getAsArray());
        CHECK(flat[0].item<double>() == first[0]);
        CHECK(flat[1].item<double>() == first[1]);
        CHECK(flat.to(at::kDouble).norm().item<double>() ==
              doctest::Approx(*(*wanted.getArray("l2"))[layer].getAsNumber()).epsilon(1e-12));
        ++layer;
      }
      CHECK(layer == 53);
    }
  }
}

TEST_CASE("evaluation and one training step") {
  const MobileNetFixture fixture;
  for (const Variant& variant : kVariants) {
    SUBCASE(variant.name) {
      auto net = makeModel(variant);
      const auto x = fixture.images(variant);
      {
        at::NoGradGuard no_grad;
        net.setTraining(false);
        CHECK(difference(net.forward(x), fixture.expected("logits_eval")) < 3e-5);
        net.setTraining(true);
      }
      const auto logits = net.forward(x);
      CHECK(difference(logits, fixture.expected("logits_train")) < 2e-4);
      const auto loss = at::cross_entropy_loss(logits, fixture.target);
      CHECK(std::abs(loss.item<double>() - fixture.number("loss_train")) < 2e-5);
      loss.backward();

      int full = 0, statistics = 0;
      for (const auto& info : fixture.io.tensors()) {
        CAPTURE(info.name);
        if (info.name.rfind("grad.", 0) == 0) {
          ++full;
          CHECK(relativeDifference(find(net.parameters(), info.name.substr(5)).grad(), fixture.expected(info.name)) <
                2e-4);
        } else if (info.name.rfind("after_fwd.", 0) == 0) {
          ++statistics;
          CHECK(difference(find(net.buffers(), info.name.substr(10)), fixture.expected(info.name)) < 1e-5);
        }
      }
      CHECK(full == 10);
      CHECK(statistics == 6);
      // The norm of every gradient; the tolerance is relative to the largest, since some are zero but for rounding.
      const auto& norms = *fixture.json.getAsObject()->getObject("grad_l2");
      CHECK(norms.size() == 158);
      double largest = 0, worst = 0;
      for (const auto& [name, value] : norms) {
        const double wanted = *value.getAsNumber();
        largest = std::max(largest, wanted);
        worst = std::max(
            worst, std::abs(find(net.parameters(), name.str()).grad().to(at::kDouble).norm().item<double>() - wanted));
      }
      CHECK(worst / largest < 2e-4);
      CHECK(find(net.buffers(), "features.0.1.num_batches_tracked").item<int64_t>() ==
            int64_t(fixture.number("num_batches_tracked_after")));
      at::NoGradGuard no_grad;
      net.setTraining(false);
      CHECK(difference(net.forward(x), fixture.expected("logits_eval_after_1_train_fwd")) < 3e-5);
    }
  }
}

/// Four steps as the fixture made them; the name says how, e.g. "frozen_sgd_lr0.045_m0.9_wd4e-5".
void checkSteps(const MobileNetFixture& fixture, const Variant& variant, const std::string& name) {
  auto net = makeModel(variant);
  const bool training = name.rfind("train", 0) == 0;
  const auto start = name.find("_lr") + 3;
  const double rate = std::stod(name.substr(start, name.find('_', start) - start));
  std::unique_ptr<optimizer::Optimizer> optimizer;
  if (name.find("adam") != std::string::npos) {
    optimizer::AdamOptions options;
    options.learning_rate = rate;
    optimizer = optimizer::makeAdam(net.parameterTensors(), options);
  } else {
    optimizer::SgdOptions options;
    options.learning_rate = rate;
    options.momentum = 0.9;
    options.weight_decay = 4e-5;
    optimizer = optimizer::makeSgd(net.parameterTensors(), options);
  }
  const auto x = fixture.images(variant);
  const auto losses = numbers(*fixture.json.getAsObject()->getObject("train_losses")->getArray(name));
  net.setTraining(training);  // frozen: batch norm with its running statistics
  for (double wanted : losses) {
    optimizer->zeroGrad();
    const auto loss = at::cross_entropy_loss(net.forward(x), fixture.target);
    CHECK(std::abs(loss.item<double>() - wanted) < (training ? 1e-2 : 1e-5));
    loss.backward();
    optimizer->step();
  }
  at::NoGradGuard no_grad;
  net.setTraining(false);
  CHECK(difference(net.forward(x), fixture.expected("logits_eval_after_" + name)) < (training ? 1e-3 : 1e-5));
}

TEST_CASE("four steps of SGD and Adam") {
  const MobileNetFixture fixture;
  const auto& runs = *fixture.json.getAsObject()->getObject("train_losses");
  CHECK(runs.size() == 4);
  for (const Variant& variant : kVariants) {
    for (const auto& run : runs) {
      const std::string name = run.first.str();
      SUBCASE(fmt::format("{} {}", variant.name, name).c_str()) { checkSteps(fixture, variant, name); }
    }
  }
}

TEST_CASE("bf16 autocast stays near fp32 in both layouts") {
  const MobileNetFixture fixture;
  for (const bool channels_last : {false, true}) {
    const Variant variant{"bf16", at::kFloat, channels_last, true};
    auto net = makeModel(variant);
    net.setTraining(false);
    const auto x = fixture.images(variant);
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    const auto logits = net.forward(x);
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
    CHECK((logits.scalar_type() == at::kBFloat16));
    // bf16 keeps 8 bits: a few per cent of the largest logit after 53 layers.
    CHECK(relativeDifference(logits, fixture.expected("logits_eval")) < 0.05);
    at::cross_entropy_loss(logits.to(at::kFloat), fixture.target).backward();
    for (const auto& [name, tensor] : net.parameters()) {
      CHECK((tensor.grad().scalar_type() == at::kFloat));
      CHECK(at::isfinite(tensor.grad()).all().item<bool>());
    }
  }
}

TEST_CASE("fp64 agrees with itself whichever kernels and layout, much closer than fp32 could") {
  const MobileNetFixture fixture;
  std::vector<at::Tensor> reference;
  for (const Variant& variant : kVariants) {
    if (variant.dtype != at::kDouble) continue;
    auto net = makeModel(variant);
    const auto logits = net.forward(fixture.images(variant));
    at::cross_entropy_loss(logits, fixture.target).backward();
    std::vector<at::Tensor> values{logits.detach()};
    for (const auto& tensor : net.parameterTensors()) values.push_back(tensor.grad());
    if (reference.empty()) {
      reference = values;
      continue;
    }
    double largest = 0, worst = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      worst = std::max(worst, difference(values[i], reference[i]));
      largest = std::max(largest, reference[i].abs().max().item<double>());
    }
    CHECK(worst / largest < 1e-11);
  }
}

TEST_CASE("a state survives a file and a foreign one is refused") {
  const Variant variant{"fp32 nhwc", at::kFloat, true, true};
  const auto net = makeModel(variant);
  const std::string path = std::string(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp") +
                           fmt::format("/expc-state-{}.safetensors", getpid());
  auto digest = model::saveState(path, net.stateDict());
  REQUIRE(digest);
  model::MobileNetV2Options options;
  options.width = 0.25;
  const model::MobileNetV2 other(options, 5);
  {
    auto file = safetensors::File::open(path);
    REQUIRE(file);
    REQUIRE(toString(model::loadState(*file, other.stateDict())).empty());
    for (size_t i = 0; i < net.stateDict().size(); ++i)
      CHECK(difference(net.stateDict()[i].tensor, other.stateDict()[i].tensor) == 0);
    CHECK(file->digest() == *digest);
    options.width = 0.5;
    const auto said = [&](const std::vector<model::NamedTensor>& state) {
      return toString(model::loadState(*file, state));
    };
    const std::string wider = said(model::MobileNetV2(options, 5).stateDict());
    CHECK(wider.find(path + " does not fit the model; tensors ") == 0);
    CHECK(wider.find(" with another shape: features.0.0.weight [8, 3, 3, 3] for [16, 3, 3, 3], ") != std::string::npos);
    CHECK(wider.find(" more") == wider.size() - 5);
    auto changed = other.stateDict();
    changed.pop_back();
    changed.push_back({"extra", at::zeros({1})});
    changed.push_back({"more", at::zeros({1})});
    CHECK(said(changed) == path +
                               " does not fit the model; tensors 2 missing: extra, more; 1 not part of the model: "
                               "classifier.1.bias");
    auto whole = other.stateDict();
    whole.back().tensor = at::zeros({10}, at::kLong);
    CHECK(said(whole) == path + " does not fit the model; tensors 1 of a type that is not cast: classifier.1.bias F32");
  }
  unlink(path.c_str());
}

}  // namespace
}  // namespace expc::parity
