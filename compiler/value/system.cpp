#include "compiler/value/system.h"

namespace expc::check {

const std::vector<SystemProperty>& systemProperties() {
  static const std::vector<SystemProperty> all = [] {
    Dimension bytes = Dimension::of(Dimension::Bytes), time = Dimension::of(Dimension::Time);
    Type memory = Type::number(bytes), rate = Type::number(*bytes.over(time));
    Type operations = Type::number(*Dimension::of(Dimension::Operations).over(time));
    return std::vector<SystemProperty>{
        {"gpus", Type::integer(), "devices of a node; on a machine without GPUs its slots of cores"},
        {"gpu.present", Type::boolean(),
         "whether the devices are GPUs; where one of their properties is given they are"},
        {"gpu.name", Type::string(), "what the device calls itself"},
        {"gpu.memory", memory, "memory of one device"},
        {"gpu.bandwidth", rate, "memory bandwidth of one device"},
        {"gpu.fp64", operations, "most operations of one device in matrix products of fp64"},
        {"gpu.fp32", operations, "the same of fp32, without TF32"},
        {"gpu.tf32", operations, "the same of TF32"},
        {"gpu.bf16", operations, "the same of bf16"},
        {"gpu.fp16", operations, "the same of fp16"},
        {"gpu.link", rate, "bandwidth between one device and all others, in one direction"},
        {"host.link", rate, "bandwidth between host and device, in one direction"},
        {"nodes", Type::integer(), "nodes that a run may use"},
        {"sockets", Type::integer(), "sockets of a node"},
        {"cores", Type::integer(), "cores of a node"},
        {"memory", memory, "memory of a node"},
    };
  }();
  return all;
}

int findSystemProperty(std::string_view name) {
  const auto& all = systemProperties();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].name == name) return static_cast<int>(i);
  return -1;
}

System System::unknown(std::string name) {
  System system;
  system.name = std::move(name);
  system.values.resize(systemProperties().size());
  return system;
}

const std::optional<Value>& System::operator[](std::string_view property) const {
  return values[static_cast<size_t>(findSystemProperty(property))];
}

void System::set(std::string_view property, Value value) {
  values[static_cast<size_t>(findSystemProperty(property))] = std::move(value);
}

}  // namespace expc::check
