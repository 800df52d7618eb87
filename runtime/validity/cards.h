#pragma once

// What NVIDIA's management library says of cards at a moment. Loaded at run time: a machine without it has no cards.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/nvml.h"

namespace expc::validity {

struct CardState {
  uint64_t reasons = 0;  // for which its clocks are held down, as NVML's bits
  bool working = false;  // it does not idle
  unsigned clock_mhz = 0, celsius = 0;
  double watts = 0;
  std::optional<double> joules;        // since the driver was loaded
  std::optional<uint64_t> ecc_errors;  // since then, that could not be corrected
  std::vector<int> processes;          // that have it open
};

/// What its owner has set.
struct CardSettings {
  std::optional<bool> persistence;
  std::optional<double> power_limit, power_default;  // watts
};

class Cards {
 public:
  /// `library`: the path of NVML, "" for none. `environment` has the variables of null cards ("NULLGPU_…=…"), which
  /// their library reads when it is first asked, so that it sees what the workers do.
  explicit Cards(const std::string& library, const std::vector<std::string>& environment = {});

  /// Nothing of a card that does not answer.
  std::optional<CardState> look(unsigned index) const;
  std::optional<CardSettings> settings(unsigned index) const;

 private:
  std::unique_ptr<base::Nvml> library_;
};

}  // namespace expc::validity
