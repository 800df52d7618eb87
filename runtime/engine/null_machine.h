#pragma once

#include <llvm/Support/Error.h>

#include <memory>
#include <string>
#include <utility>

namespace expc::engine {

/// Where the processes of a run on null cards keep what the cards do, so that each sees the others' work. Gone with
/// this object.
class NullMachine {
 public:
  /// The error names the folder for temporary files that cannot be written.
  static llvm::Expected<std::unique_ptr<const NullMachine>> make();
  ~NullMachine();
  NullMachine(const NullMachine&) = delete;
  NullMachine& operator=(const NullMachine&) = delete;

  std::string file() const { return folder_ + "/machine"; }

 private:
  explicit NullMachine(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

}  // namespace expc::engine
