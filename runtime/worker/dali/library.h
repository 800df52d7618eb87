#pragma once

// DALI's C API by name, from libraries that are loaded when a trial first asks for them: a worker starts without DALI,
// and one that forks has none of its threads.

#include <dali/dali.h>
#include <llvm/Support/Error.h>

#include <string>

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

  /// An error with DALI's message for the last call that failed in this thread, as one line after `what`.
  llvm::Error error(const std::string& what) const;
};

/// Loads DALI once; later calls give the same. From the folder in EXPC_DALI_ROOT if that is set, else from where it was
/// found when this was built, as seen from this program. The error says how to get it.
llvm::Expected<const Library*> load();

/// DALI's message for people: without the lines that all of them have and without its sources' places.
std::string plainMessage(const char* message);

}  // namespace expc::dali
