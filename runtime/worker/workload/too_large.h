#pragma once

#include <stdexcept>

namespace expc::workload {

/// What a trial is about to hold cannot fit. The trial boundary makes the point infeasible, as where memory runs out.
class TooLarge : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace expc::workload
