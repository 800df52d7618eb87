#include "runtime/worker/dali/pipeline.h"

#include <dlfcn.h>
#include <llvm/ADT/ScopeExit.h>
#include <llvm/ADT/SmallVector.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "runtime/base/failure.h"
#include "runtime/base/llvm.h"
#include "runtime/base/process.h"

namespace expc::dali {
namespace {

/// `root` is the folder nvidia/dali of the wheel; nvidia/nvimgcodec beside it is found by DALI itself.
Error open(const std::string& root, Library& library) {
  void* handles[2] = {};
  // The operators enter themselves into the first library's list as the second is loaded.
  const char* const names[2] = {"libdali.so", "libdali_operators.so"};
  for (int i = 0; i < 2; ++i) {
    handles[i] = dlopen((root + "/" + names[i]).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handles[i]) {
      const char* reason = dlerror();
      return failure(
          "loader dali: NVIDIA DALI cannot be loaded: {}; `tools/setup --dali` installs it, EXPC_DALI_ROOT names "
          "another folder that holds libdali.so",
          reason ? reason : "no reason given");
    }
  }
#define EXPC_DALI_RESOLVE(name)                                                                  \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(handles[0], #name));             \
  if (!library.name)                                                                             \
    return failure("loader dali: {}/libdali.so has no " #name                                    \
                   ": it is another version than this worker was built with (" EXPC_DALI_VERSION \
                   "); run `tools/setup --dali`",                                                \
                   root);
  EXPC_DALI_FUNCTIONS(EXPC_DALI_RESOLVE)
#undef EXPC_DALI_RESOLVE
  return library.check(library.daliInit(), "it does not start");
}

daliStorageDevice_t storage(const Edge& edge) { return edge.on_device ? DALI_STORAGE_GPU : DALI_STORAGE_CPU; }

/// Of each Backend.
constexpr daliBackend_t kBackends[] = {DALI_BACKEND_CPU, DALI_BACKEND_MIXED, DALI_BACKEND_GPU};

/// Points into `argument`.
daliArgDesc_t describe(const Argument& argument) {
  daliArgDesc_t result{};
  result.name = argument.name.c_str();
  if (const auto* flag = std::get_if<bool>(&argument.value)) {
    result.dtype = DALI_BOOL;
    result.ivalue = *flag ? 1 : 0;
  } else if (const auto* number = std::get_if<int64_t>(&argument.value)) {
    result.dtype = DALI_INT32;
    result.ivalue = *number;
  } else if (const auto* text = std::get_if<std::string>(&argument.value)) {
    result.dtype = DALI_STRING;
    result.str = text->c_str();
  } else {
    const auto& numbers = std::get<std::vector<float>>(argument.value);
    result.dtype = DALI_FLOAT_VEC;
    result.size = std::ssize(numbers);
    result.arr = numbers.data();
  }
  return result;
}

}  // namespace

Error Library::check(daliResult_t result, const std::string& what) const {
  if (result == DALI_SUCCESS) return Error::success();
  return failure("loader dali: {}: {}", what, plainMessage(daliGetLastErrorMessage()));
}

Expected<const Library*> load() {
  static std::mutex mutex;
  static Library library;
  static bool loaded = false;
  std::lock_guard lock(mutex);
  if (!loaded) {
    const char* root = std::getenv("EXPC_DALI_ROOT");
    TRY(open(root && *root ? root : base::programFolder() / EXPC_DALI_FOLDER, library));
    loaded = true;
  }
  return &library;
}

std::string plainMessage(const char* message) {
  llvm::SmallVector<StringRef, 16> lines;
  StringRef(message ? message : "").split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::string result;
  for (StringRef line : lines) {
    line = line.trim();
    if (line.empty() || line == "Critical error in pipeline:" ||
        line == "Current pipeline object is no longer valid." || line.starts_with("C++ context:") ||
        line.starts_with("Stacktrace") || line.starts_with("[frame "))
      continue;
    if (!result.empty()) result += StringRef(result).ends_with(":") ? " " : "; ";
    result += line;
  }
  return result.empty() ? "no reason given" : result;
}

Expected<std::shared_ptr<Pipeline>> Pipeline::create(const Library& library, const Graph& graph,
                                                     const PipelineOptions& options) {
  std::shared_ptr<Pipeline> result(new Pipeline(library, graph));
  TRY(result->build(options));
  return result;
}

Error Pipeline::build(const PipelineOptions& options) {
  daliPipelineParams_t params{};
  DALI_SET_PARAM(params, max_batch_size, options.batch);
  DALI_SET_PARAM(params, num_threads, options.threads);
  // The dynamic executor lets a batch be kept as long as it is needed, and be smaller than the one before it.
  DALI_SET_PARAM(params, exec_type, DALI_EXEC_DYNAMIC);
  const int depth = std::max(1, options.ahead);
  DALI_SET_PARAM(params, prefetch_queue_depths, (daliPrefetchQueueSizes_t{depth, depth}));
  // With a device id, any, DALI wants a driver.
  if (options.device >= 0) DALI_SET_PARAM(params, device_id, options.device);
  TRY(library_.check(library_.daliPipelineCreate(&pipeline_, &params), "no pipeline"));

  daliPipelineIODesc_t input{};
  input.name = graph_.input.c_str();
  input.device = DALI_STORAGE_CPU;
  input.dtype_present = 1;
  input.dtype = DALI_UINT8;
  input.ndim_present = 1;
  input.ndim = graph_.dimensions;
  input.layout = graph_.input_layout.c_str();
  TRY(library_.check(library_.daliPipelineAddExternalInput(pipeline_, &input), "no input"));
  for (const Operator& op : graph_.operators) TRY(add(op));
  daliPipelineIODesc_t output{};
  output.name = graph_.output.name.c_str();
  output.device = storage(graph_.output);
  TRY(library_.check(library_.daliPipelineSetOutputs(pipeline_, 1, &output), "no output"));
  return library_.check(library_.daliPipelineBuild(pipeline_), "the pipeline cannot be built");
}

Error Pipeline::add(const Operator& op) {
  std::vector<daliArgDesc_t> arguments;
  arguments.reserve(op.arguments.size());
  for (const Argument& argument : op.arguments) arguments.push_back(describe(argument));
  const daliIODesc_t input{op.input.name.c_str(), storage(op.input)};
  const daliIODesc_t output{op.output.name.c_str(), storage(op.output)};
  daliOperatorDesc_t description{};
  description.schema_name = op.schema.c_str();
  description.instance_name = op.output.name.c_str();
  description.backend = kBackends[size_t(op.backend)];
  description.num_inputs = description.num_outputs = 1;
  description.inputs = &input;
  description.outputs = &output;
  description.num_args = int(arguments.size());
  description.args = arguments.data();
  return library_.check(library_.daliPipelineAddOperator(pipeline_, &description), "operator " + op.schema);
}

Pipeline::~Pipeline() {
  // Waits for what its threads are doing, not for what is only queued.
  if (pipeline_) library_.daliPipelineDestroy(pipeline_);
}

Error Pipeline::run(const std::vector<Sample>& samples) {
  std::vector<daliTensorDesc_t> tensors(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    tensors[i].ndim = graph_.dimensions;
    tensors[i].shape = samples[i].shape.data();
    tensors[i].dtype = DALI_UINT8;
    tensors[i].layout = graph_.input_layout.c_str();
    tensors[i].data = const_cast<void*>(samples[i].data);
  }
  daliTensorList_h list = nullptr;
  TRY(library_.check(library_.daliTensorListCreate(&list, daliBufferPlacement_t{}), "no list of images"));
  const auto released = llvm::make_scope_exit([&] { library_.daliTensorListDecRef(list, nullptr); });
  TRY(library_.check(library_.daliTensorListAttachSamples(list, int(tensors.size()), graph_.dimensions, DALI_UINT8,
                                                          graph_.input_layout.c_str(), tensors.data(), nullptr),
                     "images are refused"));
  for (size_t i = 0; i < samples.size(); ++i)
    if (samples[i].name)
      TRY(library_.check(library_.daliTensorListSetSourceInfo(list, int(i), samples[i].name), "a name is refused"));
  TRY(library_.check(
      library_.daliPipelineFeedInput(pipeline_, graph_.input.c_str(), list, nullptr, DALI_FEED_INPUT_NO_COPY, nullptr),
      "a batch is refused"));
  return library_.check(library_.daliPipelineRun(pipeline_), "the pipeline does not run");
}

Expected<std::unique_ptr<Output>> Pipeline::take(void* stream) {
  const auto device_stream = static_cast<cudaStream_t>(stream);
  daliPipelineOutputs_h outputs = nullptr;
  const daliResult_t result = graph_.output.on_device
                                  ? library_.daliPipelinePopOutputsAsync(pipeline_, &outputs, device_stream)
                                  : library_.daliPipelinePopOutputs(pipeline_, &outputs);
  if (result != DALI_SUCCESS) return failure("{}", plainMessage(library_.daliGetLastErrorMessage()));
  auto output = std::make_unique<Output>(library_, outputs);
  TRY(output->open(graph_.output.on_device ? &device_stream : nullptr));
  return output;
}

Error Output::open(const cudaStream_t* stream) {
  TRY(library_.check(library_.daliPipelineOutputsGet(outputs_, &list_, 0), "no batch"));
  // DALI's memory is used again in the order of this stream: not before the network has read it.
  if (stream)
    TRY(library_.check(library_.daliTensorListSetStream(list_, stream, false), "the batch does not change its stream"));
  int count = 0, dimensions = 0;
  const int64_t* shapes = nullptr;
  TRY(library_.check(library_.daliTensorListGetShape(list_, &count, &dimensions, &shapes), "no shape"));
  TRY(library_.check(library_.daliTensorListGetByteSize(list_, &bytes_), "no shape"));
  for (int i = 1; i < count; ++i)
    if (!std::equal(shapes, shapes + dimensions, shapes + ptrdiff_t(i) * dimensions)) return Error::success();
  image_shape_.assign(shapes, shapes + dimensions);
  TRY(library_.check(library_.daliTensorListViewAsTensor(list_, &tensor_), "the batch is not in one piece"));
  daliTensorDesc_t description{};
  TRY(library_.check(library_.daliTensorGetDesc(tensor_, &description), "no tensor"));
  data_ = description.data;
  return Error::success();
}

Output::~Output() {
  if (tensor_) library_.daliTensorDecRef(tensor_, nullptr);
  if (list_) library_.daliTensorListDecRef(list_, nullptr);
  if (outputs_) library_.daliPipelineOutputsDestroy(outputs_);
}

}  // namespace expc::dali
