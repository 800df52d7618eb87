#pragma once

// What an engine and the agent of one of its nodes say to each other: JSON objects, one a line, over the agent's
// standard input and output.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"

namespace expc::engine {

/// One end of a conversation; owns its descriptors.
class Lines {
 public:
  Lines() = default;
  /// Whatever is between the two ends may print on the same stream (a shell's greeting, a prolog of Slurm): what is
  /// marked as a message is one, and everything else goes to the file `log`, or nowhere where that is "".
  Lines(base::Descriptor in, base::Descriptor out, std::string log = "")
      : in_(std::move(in)), out_(std::move(out)), log_(std::move(log)) {}

  int fd() const { return in_; }
  bool isOpen() const { return in_ >= 0; }
  void close() { in_.close(), out_.close(); }
  /// Says nothing more, so that the other end comes to an end; what that says until then can still be received.
  void finish() { out_.close(); }
  /// Whether the other end still hears and speaks. What it has said stays to be received.
  bool hasPeer() const;
  /// Sends one message, and waits until it is on its way. False where nobody hears any more; what the other end has
  /// said stays to be received.
  bool send(const llvm::json::Object& message);
  /// The whole messages of what has come, without waiting; one that cannot be read stands as an `error` that says so.
  /// Closed after the end, or after a line longer than `longest` bytes.
  std::vector<llvm::json::Object> receive(size_t longest = 64 << 20);

 private:
  void take(llvm::StringRef line, std::vector<llvm::json::Object>& messages) const;
  void keep(llvm::StringRef text) const;

  base::Descriptor in_, out_;
  std::string log_, rest_;
};

}  // namespace expc::engine
