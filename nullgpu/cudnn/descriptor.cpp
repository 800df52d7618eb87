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
    case DescriptorType::Matmul:
      return "cudnn_null_matmul";
    default:
      return {};
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
  if (graph != nullptr) {
    for (const auto& operation : graph->below[Attribute::GraphOperations]) {
      if (const std::string_view name = nameOf(operation->type); !name.empty()) return name;
    }
  }
  return "cudnn_null_graph";
}

}  // namespace nullgpu::cudnn
