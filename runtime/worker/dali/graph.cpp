#include "runtime/worker/dali/graph.h"

#include <utility>

#include "runtime/base/failure.h"

namespace expc::dali {
namespace {

using data::Element;

// DALI's numbers (dali/core/dali_data_type.h, dali/pipeline/data/types.h): its C API takes enumerations as integers.
constexpr int64_t kUInt8 = 0, kFloat16 = 8, kFloat = 9, kFloat64 = 10;
constexpr int64_t kRgb = 0, kGray = 2;
constexpr int64_t kLinear = 1;

/// Appends operators, each of which takes what the one before it gave.
class Chain {
 public:
  explicit Chain(Graph& graph) : graph_(graph), last_{graph.input, false} {}

  void add(std::string schema, Backend backend, std::string output, std::vector<Argument> arguments) {
    const Edge input{last_.name, backend == Backend::Gpu};
    last_ = {std::move(output), backend != Backend::Cpu};
    graph_.operators.push_back({std::move(schema), backend, input, last_, std::move(arguments)});
  }
  const Edge& last() const { return last_; }

 private:
  Graph& graph_;
  Edge last_;
};

std::vector<float> scaled(const double (&values)[data::kChannels], int64_t channels) {
  std::vector<float> result;
  for (int64_t c = 0; c < channels; ++c) result.push_back(float(values[c] * 255));
  return result;
}

/// Turns, converts and normalises: (v - 255 mean) / (255 std) of 0..255 is (v / 255 - mean) / std.
void addNormalise(Chain& chain, Backend backend, const data::Preparation& wanted) {
  const bool bytes = wanted.element == Element::UInt8;
  if (bytes && wanted.layout == data::Layout::Nhwc) return;  // as they are
  const bool normalise = wanted.normalise && !bytes;
  const int64_t type = bytes ? kUInt8 : wanted.element == Element::Float16 ? kFloat16 : kFloat;
  const std::vector<float> mean = normalise ? scaled(data::kMean, wanted.channels) : std::vector<float>{0};
  const std::vector<float> std_dev = normalise ? scaled(data::kStd, wanted.channels) : std::vector<float>{1};
  chain.add("CropMirrorNormalize", backend, "normalised",
            {{"mean", mean},
             {"std", std_dev},
             {"dtype", type},
             {"output_layout", std::string(wanted.layout == data::Layout::Nhwc ? "HWC" : "CHW")}});
  if (wanted.element == Element::Float64) chain.add("Cast", backend, "widened", {{"dtype", kFloat64}});
}

}  // namespace

Expected<Graph> makeGraph(const GraphOptions& options) {
  const data::Preparation& wanted = options.preparation;
  if (wanted.element == Element::BFloat16)
    return failure("loader dali: DALI has no bfloat16; use transfer_dtype = as_input, or another loader");
  if (options.source == Source::Pixels && wanted.channels == 1)
    return failure("loader dali: cannot convert colour images to grey");

  const Backend backend = options.on_device ? Backend::Gpu : Backend::Cpu;
  const bool files = options.source == Source::Files;
  Graph graph;
  graph.input = files ? "path" : "pixels";
  graph.dimensions = files ? 1 : 3;
  graph.input_layout = files ? "" : "HWC";
  Chain chain(graph);
  bool rounded = true;  // scaled values are 8 bits again
  if (files) {
    chain.add("io__file__Read", Backend::Cpu, "encoded", {});
    // What cameras note about their position is not applied, and chroma is interpolated, as PIL does it.
    std::vector<Argument> arguments{{"output_type", wanted.channels == 1 ? kGray : kRgb},
                                    {"adjust_orientation", false}};
    if (options.on_device) arguments.push_back({"jpeg_fancy_upsampling", true});
    chain.add("decoders__Image", options.on_device ? Backend::Mixed : Backend::Cpu, "decoded", std::move(arguments));
  } else if (options.source == Source::GreyPixels) {
    rounded = wanted.element == Element::UInt8;
    if (wanted.channels == 3)
      chain.add("ColorSpaceConversion", backend, "coloured", {{"image_type", kGray}, {"output_type", kRgb}});
  }
  if (options.scale) {
    // Linear with antialiasing, which is DALI's default: a triangle that widens where an axis shrinks.
    chain.add("Resize", backend, "scaled",
              {{"size", std::vector<float>{float(wanted.rows), float(wanted.cols)}},
               {"interp_type", kLinear},
               {"antialias", true},
               {"dtype", rounded ? kUInt8 : kFloat}});
  }
  addNormalise(chain, backend, wanted);
  graph.output = {chain.last().name, options.on_device};
  return graph;
}

}  // namespace expc::dali
