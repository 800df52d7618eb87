#pragma once

#include <vector>

#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/llama/nf4.h"
#include "runtime/worker/llama/sharded_weights.h"
#include "runtime/worker/llama/weight_source.h"

namespace expc::llama {

/// Draws or reads what a rank keeps of the weights of a unit, and nothing else of them. Every rank has the same ones in
/// the same order, and fills all of them: what NF4 needs of a whole weight the ranks tell each other.
class UnitLoader {
 public:
  UnitLoader(const WeightSource& source, comm::Communicator& communicator)
      : source_(source), communicator_(communicator) {}

  /// Makes `weight` a description (at::kMeta) of one in `dtype`. It stays where it is until it has been filled.
  void add(const TensorSpec& spec, at::Tensor& weight, at::ScalarType dtype);
  /// The same of one in NF4, quantised in the type that the source has.
  void add(const TensorSpec& spec, Nf4& weight);

  /// As ShardedWeights::Fill.
  void fill(const at::Tensor* member, int64_t first, const at::Tensor& own);

 private:
  struct Weight {
    const TensorSpec* spec = nullptr;
    const at::Tensor* dense = nullptr;  // or
    const Nf4* nf4 = nullptr;
    Nf4 scaled;  // on the host, all but the codes
  };
  void pack(Weight& weight, int64_t first, const at::Tensor& own);

  const WeightSource& source_;
  comm::Communicator& communicator_;
  std::vector<Weight> weights_;
};

}  // namespace expc::llama
