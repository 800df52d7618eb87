#pragma once

// DALI's C API by name, from libraries that are loaded when a trial first asks for them (a worker starts without DALI,
// and one that forks has none of its threads), and one pipeline of it that runs a Graph. DALI works on threads of its
// own; all calls here come from one thread at a time.

#include <dali/dali.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/worker/dali/graph.h"

namespace expc::dali {

// X(function): everything that is called. Resolved by name, so that nothing links DALI.
#define EXPC_DALI_FUNCTIONS(X)    \
  X(daliInit)                     \
  X(daliGetLastErrorMessage)      \
  X(daliPipelineCreate)           \
  X(daliPipelineDestroy)          \
  X(daliPipelineAddExternalInput) \
  X(daliPipelineAddOperator)      \
  X(daliPipelineSetOutputs)       \
  X(daliPipelineBuild)            \
  X(daliPipelineFeedInput)        \
  X(daliPipelineRun)              \
  X(daliPipelinePopOutputs)       \
  X(daliPipelinePopOutputsAsync)  \
  X(daliPipelineOutputsGet)       \
  X(daliPipelineOutputsDestroy)   \
  X(daliTensorListCreate)         \
  X(daliTensorListAttachSamples)  \
  X(daliTensorListSetSourceInfo)  \
  X(daliTensorListSetStream)      \
  X(daliTensorListGetShape)       \
  X(daliTensorListGetByteSize)    \
  X(daliTensorListDecRef)         \
  X(daliTensorListViewAsTensor)   \
  X(daliTensorGetDesc)            \
  X(daliTensorDecRef)

struct Library {
#define EXPC_DALI_POINTER(name) decltype(&::name) name = nullptr;
  EXPC_DALI_FUNCTIONS(EXPC_DALI_POINTER)
#undef EXPC_DALI_POINTER

  /// The error of a call that failed, with DALI's message for it in this thread, as one line after `what`.
  Error check(daliResult_t result, const std::string& what) const;
};

/// Loads DALI once; later calls give the same. From the folder in EXPC_DALI_ROOT if that is set, else from where it was
/// found when this was built, as seen from this program. The error says how to get it.
Expected<const Library*> load();

/// DALI's message for people: without the lines that all of them have and without its sources' places.
std::string plainMessage(const char* message);

struct PipelineOptions {
  int batch = 1;    // images at most
  int threads = 1;  // of DALI's pool, which decodes, scales and normalises on the host
  int ahead = 1;    // batches that are fed before one is taken
  int device = -1;  // index of the GPU, or none
};

/// What is fed for one image: memory that stays as it is until its batch was taken.
struct Sample {
  const void* data = nullptr;
  std::array<int64_t, 3> shape{};  // as many as the graph's dimensions
  const char* name = nullptr;      // for DALI's messages; may be null
};

/// A batch as DALI made it. Destroying it gives DALI its memory back, after what was queued on `stream` until then.
class Output {
 public:
  Output(const Library& library, daliPipelineOutputs_h outputs) : library_(library), outputs_(outputs) {}
  ~Output();
  Output& operator=(Output&&) = delete;

  /// One image after the other, on the host or the device.
  const void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// Rows and columns of each image, as the layout has them; nothing where images differ.
  const std::vector<int64_t>& imageShape() const { return image_shape_; }

 private:
  friend class Pipeline;
  Error open(const cudaStream_t* stream);

  const Library& library_;
  daliPipelineOutputs_h outputs_;
  daliTensorList_h list_ = nullptr;
  daliTensor_h tensor_ = nullptr;
  const void* data_ = nullptr;
  size_t bytes_ = 0;
  std::vector<int64_t> image_shape_;
};

class Pipeline {
 public:
  static Expected<std::shared_ptr<Pipeline>> create(const Library& library, const Graph& graph,
                                                    const PipelineOptions& options);
  ~Pipeline();
  Pipeline& operator=(Pipeline&&) = delete;

  /// Feeds a batch and starts work on it.
  Error run(const std::vector<Sample>& samples);
  /// The oldest batch that was fed and not taken, when it is done; on a device, ready for what is queued on `stream`
  /// afterwards. An error is DALI's for that batch.
  Expected<std::unique_ptr<Output>> take(void* stream);

 private:
  Pipeline(const Library& library, const Graph& graph) : library_(library), graph_(graph) {}
  Error build(const PipelineOptions& options);
  Error add(const Operator& op);

  const Library& library_;
  const Graph graph_;
  daliPipeline_h pipeline_ = nullptr;
};

}  // namespace expc::dali
