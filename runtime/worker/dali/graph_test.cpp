#include "runtime/worker/dali/graph.h"

#include <doctest/doctest.h>

namespace expc::dali {
namespace {

using data::Element;
using data::Layout;

std::string text(const Argument& argument) {
  std::string result = argument.name + "=";
  if (const auto* flag = std::get_if<bool>(&argument.value)) return result + (*flag ? "true" : "false");
  if (const auto* number = std::get_if<int64_t>(&argument.value)) return result + std::to_string(*number);
  if (const auto* word = std::get_if<std::string>(&argument.value)) return result + *word;
  for (float value : std::get<std::vector<float>>(argument.value)) result += std::to_string(value) + " ";
  return result;
}

/// "Operator(mixed) in -> out@gpu: a=1 b=2", a line for each.
std::string text(const Graph& graph) {
  std::string result = graph.input + "[" + std::to_string(graph.dimensions) + graph.input_layout + "]\n";
  for (const Operator& op : graph.operators) {
    result += op.schema;
    result += op.backend == Backend::Cpu ? "" : op.backend == Backend::Gpu ? "(gpu)" : "(mixed)";
    result += " " + op.input.name + (op.input.on_device ? "@gpu" : "") + " -> " + op.output.name +
              (op.output.on_device ? "@gpu" : "") + ":";
    for (const Argument& argument : op.arguments) result += " " + text(argument);
    result += "\n";
  }
  return result + graph.output.name + (graph.output.on_device ? "@gpu" : "") + "\n";
}

GraphOptions options(Source source, Element element, Layout layout) {
  GraphOptions result;
  result.source = source;
  result.preparation.rows = 32;
  result.preparation.cols = 48;
  result.preparation.element = element;
  result.preparation.layout = layout;
  return result;
}

std::string textOf(const GraphOptions& wanted) {
  auto graph = makeGraph(wanted);
  REQUIRE(bool(graph));
  return text(*graph);
}

const std::string kNormalise = "mean=123.675003 116.279999 103.529999  std=58.395000 57.119999 57.375000  dtype=";

}  // namespace

TEST_CASE("files are read, decoded, scaled in 8 bits and normalised on the host") {
  CHECK(textOf(options(Source::Files, Element::Float32, Layout::Nchw)) ==
        "path[1]\n"
        "io__file__Read path -> encoded:\n"
        "decoders__Image encoded -> decoded: output_type=0 adjust_orientation=false\n"
        "Resize decoded -> scaled: size=32.000000 48.000000  interp_type=1 antialias=true dtype=0\n"
        "CropMirrorNormalize scaled -> normalised: " +
            kNormalise +
            "9 output_layout=CHW\n"
            "normalised\n");
}

TEST_CASE("with a GPU files are decoded there and never come back") {
  auto wanted = options(Source::Files, Element::Float16, Layout::Nhwc);
  wanted.on_device = true;
  CHECK(textOf(wanted) ==
        "path[1]\n"
        "io__file__Read path -> encoded:\n"
        "decoders__Image(mixed) encoded -> decoded@gpu: output_type=0 adjust_orientation=false "
        "jpeg_fancy_upsampling=true\n"
        "Resize(gpu) decoded@gpu -> scaled@gpu: size=32.000000 48.000000  interp_type=1 antialias=true dtype=0\n"
        "CropMirrorNormalize(gpu) scaled@gpu -> normalised@gpu: " +
            kNormalise +
            "8 output_layout=HWC\n"
            "normalised@gpu\n");
}

TEST_CASE("grey pixels cross as they are, become three channels while small, and are scaled as fp32") {
  auto wanted = options(Source::GreyPixels, Element::Float64, Layout::Nchw);
  wanted.on_device = true;
  CHECK(textOf(wanted) ==
        "pixels[3HWC]\n"
        "ColorSpaceConversion(gpu) pixels@gpu -> coloured@gpu: image_type=2 output_type=0\n"
        "Resize(gpu) coloured@gpu -> scaled@gpu: size=32.000000 48.000000  interp_type=1 antialias=true dtype=9\n"
        "CropMirrorNormalize(gpu) scaled@gpu -> normalised@gpu: " +
            kNormalise +
            "9 output_layout=CHW\n"
            "Cast(gpu) normalised@gpu -> widened@gpu: dtype=10\n"
            "widened@gpu\n");
}

TEST_CASE("what needs no operator has none") {
  auto wanted = options(Source::Pixels, Element::UInt8, Layout::Nhwc);
  wanted.scale = false;
  CHECK(textOf(wanted) == "pixels[3HWC]\npixels\n");
  wanted.preparation.layout = Layout::Nchw;
  CHECK(textOf(wanted) ==
        "pixels[3HWC]\n"
        "CropMirrorNormalize pixels -> normalised: mean=0.000000  std=1.000000  dtype=0 output_layout=CHW\n"
        "normalised\n");
  wanted.preparation.element = Element::Float32;
  wanted.preparation.normalise = false;
  CHECK(textOf(wanted) ==
        "pixels[3HWC]\n"
        "CropMirrorNormalize pixels -> normalised: mean=0.000000  std=1.000000  dtype=9 output_layout=CHW\n"
        "normalised\n");
}

TEST_CASE("one channel stays one") {
  auto wanted = options(Source::GreyPixels, Element::UInt8, Layout::Nhwc);
  wanted.preparation.channels = 1;
  CHECK(textOf(wanted) ==
        "pixels[3HWC]\n"
        "Resize pixels -> scaled: size=32.000000 48.000000  interp_type=1 antialias=true dtype=0\n"
        "scaled\n");
}

TEST_CASE("what DALI cannot do is said") {
  auto bf16 = makeGraph(options(Source::Files, Element::BFloat16, Layout::Nchw));
  REQUIRE(!bf16);
  CHECK(toString(bf16.takeError()) ==
        "loader dali: DALI has no bfloat16; use transfer_dtype = as_input, or another loader");
  auto grey = options(Source::Pixels, Element::Float32, Layout::Nchw);
  grey.preparation.channels = 1;
  auto refused = makeGraph(grey);
  REQUIRE(!refused);
  CHECK(toString(refused.takeError()) == "loader dali: cannot convert colour images to grey");
}

}  // namespace expc::dali
