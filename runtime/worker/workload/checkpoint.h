#pragma once

// The folder in which a quality trial keeps its state: one folder per trial, and in it one for the newest epoch. A
// checkpoint is written whole or not at all, and one that is damaged or belongs to another trial is refused.
//
//   FOLDER/POINT-seedSEED-DIGEST/        a trial: its point, its seed, and a digest of what was asked for
//     epoch-000005/model.safetensors     what is trained (images: torchvision's names, load_state_dict takes it)
//     epoch-000005/state.safetensors     optimiser, random numbers of each rank, …
//     epoch-000005/checkpoint.json       the rest, what the trial is, and BLAKE3 digests of all three
//     model.safetensors                  what the workload leaves, once the trial has ended; the folders are gone then

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/llvm.h"
#include "runtime/data/model/safetensors.h"
#include "runtime/worker/model/named_tensor.h"

namespace expc::workload {

/// The facts that must agree for one trial to continue where another one stopped.
struct TrialIdentity {
  std::string name;    // the trial's folder
  json::Object facts;  // texts by name: "batch": "32", "threads": "1"
};

/// The checkpoints of one trial. newest() may be called on every rank; all that writes is for one process alone.
class CheckpointFolder {
 public:
  /// A verified checkpoint, with its tensor files mapped into memory.
  struct Checkpoint {
    std::string path;
    int64_t epochs = 0;  // epochs done
    safetensors::File model, state;
    json::Object content;  // as save() got it
  };

  /// `folder` is the parent of trials' folders. Nothing is created until prepare().
  CheckpointFolder(const std::string& folder, TrialIdentity identity);

  /// The newest checkpoint, read and verified, or nothing. An error names the damaged file, or the facts in which the
  /// checkpoint's trial differs from this one, and says how to go on.
  Expected<std::optional<Checkpoint>> newest() const;

  /// Creates the trial's folder and locks it against other processes while this object lives (an error if one holds
  /// it). Removes what an interrupted save() left, and all but the newest checkpoint.
  Error prepare();

  /// Writes the checkpoint after `epochs` epochs, whole or not at all, and only then removes the one before. An error
  /// says why it could not be written, and which checkpoint is left.
  Error save(int64_t epochs, const std::vector<model::NamedTensor>& model, const std::vector<model::NamedTensor>& state,
             json::Object content) const;

  /// Leaves only the model of the checkpoint after `epochs` epochs, and returns its path.
  Expected<std::string> finish(int64_t epochs) const;

  /// Removes all checkpoints; whatever a workload wrote beside them stays.
  void clear() const;

  /// The trial's folder.
  const std::string& path() const { return path_; }

 private:
  std::string epochPath(int64_t epochs) const;
  /// Numbers of epochs for which there are folders, ascending.
  std::vector<int64_t> present() const;

  std::string path_;
  TrialIdentity identity_;
  Descriptor lock_;
};

}  // namespace expc::workload
