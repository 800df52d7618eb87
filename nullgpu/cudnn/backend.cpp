// The backend interface, by which convolutions run: every graph has one engine, which needs no workspace. What is built
// of descriptors is a tree, of which only the descriptors under a descriptor are kept.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "nullgpu/core/stream.h"
#include "nullgpu/cudnn/abi.h"

using namespace nullgpu::cudnn;

namespace {

/// What a descriptor holds. Shared, since cuDNN copies: a plan outlives the graph that it was made of.
struct Content {
  DescriptorType type{};
  std::map<Attribute, std::vector<std::shared_ptr<Content>>> below;
};

/// cudnnBackendDescriptor_t points to one.
struct Descriptor {
  std::shared_ptr<Content> content;
};

std::string_view nameOf(DescriptorType operation) {
  switch (operation) {
    case DescriptorType::ConvolutionForward:
      return "cudnn_null_convolution_forward";
    case DescriptorType::ConvolutionBackwardFilter:
      return "cudnn_null_convolution_backward_filter";
    case DescriptorType::ConvolutionBackwardData:
      return "cudnn_null_convolution_backward_data";
    default:
      return {};
  }
}

/// A graph that is no convolution. Attention has two products forward and five backward, among many other operations.
std::string_view nameByProducts(size_t products) {
  switch (products) {
    case 0:
      return "cudnn_null_graph";
    case 1:
      return "cudnn_null_matmul";
    case 2:
      return "cudnn_null_attention_forward";
    default:
      return "cudnn_null_attention_backward";
  }
}

/// The only descriptor under `content` by that attribute; null where there is none.
std::shared_ptr<Content> below(const std::shared_ptr<Content>& content, Attribute attribute) {
  if (content == nullptr) return nullptr;
  const auto found = content->below.find(attribute);
  return found == content->below.end() || found->second.empty() ? nullptr : found->second.front();
}

/// What a profile calls the kernel of a plan: by the operations of its graph. Static storage.
std::string_view kernelName(const std::shared_ptr<Content>& plan) {
  const auto engine = below(below(plan, Attribute::PlanConfiguration), Attribute::ConfigurationEngine);
  const auto graph = below(engine, Attribute::EngineGraph);
  size_t products = 0;
  if (graph != nullptr) {
    for (const auto& operation : graph->below[Attribute::GraphOperations]) {
      if (const std::string_view name = nameOf(operation->type); !name.empty()) return name;
      products += operation->type == DescriptorType::Matmul ? 1 : 0;
    }
  }
  return nameByProducts(products);
}

/// The configuration that heuristics find: of the one engine of their graph.
std::shared_ptr<Content> configurationFor(const std::shared_ptr<Content>& heuristics) {
  auto engine = std::make_shared<Content>();
  engine->type = DescriptorType::Engine;
  engine->below[Attribute::EngineGraph] = {below(heuristics, Attribute::HeuristicsGraph)};
  auto configuration = std::make_shared<Content>();
  configuration->type = DescriptorType::EngineConfiguration;
  configuration->below[Attribute::ConfigurationEngine] = {engine};
  return configuration;
}

/// Answers with one descriptor: its number alone where the caller asks for none.
Status answer(const std::shared_ptr<Content>& content, int64_t asked, int64_t* found, void* array) {
  if (found != nullptr) *found = 1;
  if (asked > 0 && array != nullptr) static_cast<Descriptor**>(array)[0]->content = content;
  return Status::Success;
}

Status answer(int64_t number, int64_t asked, int64_t* found, void* array) {
  if (found != nullptr) *found = 1;
  if (asked > 0 && array != nullptr) static_cast<int64_t*>(array)[0] = number;
  return Status::Success;
}

[[noreturn]] void unwritten(Attribute attribute) {
  std::fprintf(
      stderr,
      "nullgpu: cudnnBackendGetAttribute is asked for attribute %d, which the null GPU does not know: write it in "
      "nullgpu/cudnn/backend.cpp\n",
      static_cast<int>(attribute));
  std::abort();
}

}  // namespace

extern "C" {

Status cudnnBackendCreateDescriptor(DescriptorType type, Descriptor** descriptor) {
  if (descriptor == nullptr) return Status::NullPointer;
  *descriptor = new Descriptor{std::make_shared<Content>()};
  (*descriptor)->content->type = type;
  return Status::Success;
}

Status cudnnBackendDestroyDescriptor(Descriptor* descriptor) {
  delete descriptor;
  return Status::Success;
}

Status cudnnBackendFinalize(Descriptor* descriptor) {
  return descriptor == nullptr ? Status::NullPointer : Status::Success;
}

Status cudnnBackendSetAttribute(Descriptor* descriptor, Attribute attribute, AttributeType type, int64_t count,
                                const void* array) {
  if (descriptor == nullptr) return Status::NullPointer;
  if (type != AttributeType::Descriptor) return Status::Success;
  auto& kept = descriptor->content->below[attribute];
  kept.clear();
  for (int64_t i = 0; i < count; ++i) {
    const Descriptor* each = static_cast<Descriptor* const*>(array)[i];
    if (each == nullptr) return Status::NullPointer;
    kept.push_back(each->content);
  }
  return Status::Success;
}

Status cudnnBackendGetAttribute(Descriptor* descriptor, Attribute attribute, AttributeType, int64_t asked,
                                int64_t* found, void* array) {
  if (descriptor == nullptr) return Status::NullPointer;
  switch (attribute) {
    case Attribute::HeuristicsResults:
      return answer(configurationFor(descriptor->content), asked, found, array);
    case Attribute::ConfigurationEngine:
      return answer(below(descriptor->content, attribute), asked, found, array);
    case Attribute::GraphEngineCount:
      return answer(1, asked, found, array);
    case Attribute::ConfigurationWorkspace:
    case Attribute::ConfigurationSharedMemory:
    case Attribute::PlanWorkspace:
    case Attribute::EngineIndex:
      return answer(int64_t{0}, asked, found, array);
    case Attribute::ConfigurationKnobs:
    case Attribute::EngineKnobs:
    case Attribute::EngineNumericalNotes:
    case Attribute::EngineBehaviourNotes:
      if (found != nullptr) *found = 0;
      return Status::Success;
    default:
      unwritten(attribute);
  }
}

Status cudnnBackendExecute(Handle* handle, Descriptor* plan, Descriptor* variants) {
  if (handle == nullptr || plan == nullptr || variants == nullptr) return Status::NullPointer;
  return statusOf(nullgpu::launch(handle->stream, kernelName(plan->content)));
}

}  // extern "C"
