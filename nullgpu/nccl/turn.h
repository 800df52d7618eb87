#pragma once

#include <memory>
#include <vector>

#include "nullgpu/core/stream.h"
#include "nullgpu/nccl/communicator.h"
#include "nullgpu/nccl/transfer.h"

namespace nullgpu::nccl {

/// An operation of a communicator in a stream. Those of one communicator run one after another, in the order in which
/// they were called: that order is the same on all ranks, the order in which streams move is not.
class TurnTaker : public Operation {
 public:
  /// Number `turn` of those that the communicator was called for, or of each `round` of a graph that has captured them.
  TurnTaker(std::shared_ptr<Communicator> communicator, std::vector<Call> calls, uint64_t turn,
            std::shared_ptr<Communicator::Round> round = nullptr);

  bool advance() override;
  Activity* activity() override;

 private:
  bool replayed() const { return round_ != nullptr; }
  bool mayBegin() const;
  void begin();
  void end();
  void count();
  void describe();

  const std::shared_ptr<Communicator> communicator_;
  std::vector<Call> calls_;
  const uint64_t turn_;
  const std::shared_ptr<Communicator::Round> round_;
  uint64_t number_ = 0;  // of all operations of this process; the faults name it. 0: not begun
  std::unique_ptr<Transfer> transfer_;
  Activity activity_;
  bool is_told_ = true;
};

}  // namespace nullgpu::nccl
