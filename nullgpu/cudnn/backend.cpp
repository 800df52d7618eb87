// The backend interface, by which convolutions run: every graph has one engine, which needs no workspace.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "nullgpu/core/stream.h"
#include "nullgpu/cudnn/descriptor.h"

using nullgpu::cudnn::Attribute;
using nullgpu::cudnn::AttributeType;
using nullgpu::cudnn::below;
using nullgpu::cudnn::Content;
using nullgpu::cudnn::Descriptor;
using nullgpu::cudnn::DescriptorType;
using nullgpu::cudnn::Handle;
using nullgpu::cudnn::Status;

namespace {

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
  return nullgpu::cudnn::statusOf(nullgpu::launch(handle->stream, nullgpu::cudnn::kernelName(plan->content)));
}

}  // extern "C"
