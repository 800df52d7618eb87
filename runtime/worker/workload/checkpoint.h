#pragma once

// Where a quality trial keeps its state: one folder for each trial, in it one for the newest epoch. What is there is
// whole, or it is refused.
//
//   FOLDER/POINT-seedSEED-DIGEST/        a trial: its point, its seed, and a digest of what was asked for
//     epoch-000005/model.safetensors     what is trained (images: torchvision's names, load_state_dict takes it)
//     epoch-000005/state.safetensors     optimiser, random numbers of each rank, …
//     epoch-000005/checkpoint.json       the rest, what the trial is, and BLAKE3 digests of all three
//     model.safetensors                  what the workload leaves, once the trial has ended; the folders are gone then

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/data/io/safetensors.h"
#include "runtime/worker/model/named_tensor.h"

namespace expc::workload {

/// What must agree for one trial to go on where another one stopped.
struct TrialIdentity {
  std::string name;          // of the trial's folder
  llvm::json::Object facts;  // each a string, by what it is: "batch": "32", "threads": "1"
};

class CheckpointFolder {
 public:
  struct Checkpoint {
    std::string path;
    int64_t epochs = 0;  // done
    io::SafeTensors model, state;
    llvm::json::Object content;  // what save() was given
  };

  /// `folder` holds the trials' folders; it is made when it is needed.
  CheckpointFolder(const std::string& folder, TrialIdentity identity);

  /// The newest checkpoint, read and verified, or nothing. An error names the file that is damaged, or the facts in
  /// which the checkpoint's trial differs from this one, and the way out.
  llvm::Expected<std::optional<Checkpoint>> newest() const;

  /// Makes the trial's folder, keeps other processes out of it while this object lives (an error where one is in it),
  /// and removes what an interrupted save() left there beside the newest checkpoint. By one process alone.
  llvm::Error prepare();

  /// Writes the checkpoint after `epochs` epochs, whole or not at all, and only then removes the one before. An error
  /// says why it could not be written and what is left. By one process alone.
  llvm::Error save(int64_t epochs, const std::vector<model::NamedTensor>& model,
                   const std::vector<model::NamedTensor>& state, llvm::json::Object content) const;

  /// Leaves of the checkpoint after `epochs` epochs only the model, and returns its path. By one process alone.
  llvm::Expected<std::string> finish(int64_t epochs) const;

  /// Removes all checkpoints, what a workload wrote beside them stays. By one process alone.
  void clear() const;

  const std::string& path() const { return path_; }

 private:
  std::string epochPath(int64_t epochs) const;
  /// Folders of checkpoints by the number of epochs done, ascending.
  std::vector<int64_t> present() const;

  std::string path_;
  TrialIdentity identity_;
  base::Descriptor lock_;
};

}  // namespace expc::workload
