#include "nullgpu/cudnn/descriptor.h"

namespace nullgpu::cudnn {
namespace {

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

}  // namespace

std::shared_ptr<Content> below(const std::shared_ptr<Content>& content, Attribute attribute) {
  if (content == nullptr) return nullptr;
  const auto found = content->below.find(attribute);
  return found == content->below.end() || found->second.empty() ? nullptr : found->second.front();
}

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

}  // namespace nullgpu::cudnn
