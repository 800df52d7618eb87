#pragma once

// What DALI is asked to do, as plain values: which operators, on what, with which arguments. Nothing of DALI here, so
// that what would run on a GPU is tested without one.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/images/preparation.h"

namespace expc::dali {

/// Where an operator runs; `Mixed` takes from the host and leaves on the device.
enum class Backend { Cpu, Mixed, Gpu };

/// An operator's argument by DALI's name. Types of elements and of images are given as DALI's numbers for them.
struct Argument {
  std::string name;
  std::variant<bool, int64_t, std::string, std::vector<float>> value;
};

/// A list of tensors between operators. One that was made on the host and is asked for on the device is copied by DALI.
struct Edge {
  std::string name;
  bool on_device = false;
};

struct Operator {
  std::string schema;  // DALI's name of the operator, a__b for Python's a.b
  Backend backend = Backend::Cpu;
  Edge input;
  Edge output;
  std::vector<Argument> arguments;
};

/// A chain of operators from the batch that is fed to the batch that is taken.
struct Graph {
  std::string input;  // name of what is fed, on the host
  int dimensions = 1;
  std::string input_layout;  // of its dimensions; empty for bytes
  std::vector<Operator> operators;
  Edge output;
};

/// What is fed for each image.
enum class Source {
  Files,       // the path of a JPEG or PNG file
  GreyPixels,  // rows x cols x 1 bytes
  Pixels,      // rows x cols x 3 bytes, red, green, blue
};

struct GraphOptions {
  Source source = Source::Files;
  bool scale = true;  // false where every image has the wanted size already
  data::Preparation preparation;
  bool on_device = false;  // decode, scale and normalise on a GPU, and leave the batch there
};

/// The chain that prepares images as data::Preparer does. Grey pixels are made three channels first, while they are
/// small, and scaled as fp32; colour is scaled in 8 bits, as PIL scales it. An error when DALI cannot: it has no
/// bfloat16, and colour is not made grey here.
Expected<Graph> makeGraph(const GraphOptions& options);

}  // namespace expc::dali
