#pragma once

// Descriptors of the backend: what is built of them is a tree, of which only the descriptors under a descriptor are
// kept.

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "nullgpu/cudnn/abi.h"

namespace nullgpu::cudnn {

/// What a descriptor holds. Shared, since cuDNN copies: a plan outlives the graph that it was made of.
struct Content {
  DescriptorType type{};
  std::map<Attribute, std::vector<std::shared_ptr<Content>>> below;
};

/// cudnnBackendDescriptor_t points to one.
struct Descriptor {
  std::shared_ptr<Content> content;
};

/// The only descriptor under `content` by that attribute; null where there is none.
std::shared_ptr<Content> below(const std::shared_ptr<Content>& content, Attribute attribute);

/// What a profile calls the kernel of a plan: by the operations of its graph. Static storage.
std::string_view kernelName(const std::shared_ptr<Content>& plan);

}  // namespace nullgpu::cudnn
