#pragma once

// The limits above which a disturbed trial does not count (docs/validity.md): their names in a design, and what
// holds if a study sets none.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace expc::plan {

/// A limit that a design may set. A reading above it makes a trial invalid.
struct LimitRule {
  std::string_view name;            // in the language and in plans: `other_cpu`
  std::string_view unit;            // "share", "B", or "" for a number
  std::optional<double> otherwise;  // the limit if the study sets none; absent: the reading is noted, never judged
};

/// All limits. Those of 0 (processes of others on the GPU, throttling, memory errors) hold unless the study says
/// otherwise.
inline constexpr std::array<LimitRule, 8> kLimits = {{{"other_cpu", "share", std::nullopt},
                                                      {"other_gpu", "", 0.0},
                                                      {"throttled", "share", 0.0},
                                                      {"clock_drop", "share", std::nullopt},
                                                      {"ecc_errors", "", 0.0},
                                                      {"swapped", "B", std::nullopt},
                                                      {"page_faults", "", std::nullopt},
                                                      {"pressure", "share", std::nullopt}}};

/// The largest value of `repeat_disturbed`.
inline constexpr unsigned kMostDisturbed = 100;
/// The largest value of `share`.
inline constexpr unsigned kMostShare = 1024;

/// A study's limits, and how often a disturbed trial is repeated.
struct Validity {
  /// Number of attempts at a place of a block, if each is disturbed.
  unsigned attempts = 3;
  std::map<std::string, double, std::less<>> limits;  // those that the study sets, in base units

  /// The limit in force, or nothing if the reading is not judged.
  std::optional<double> limit(std::string_view name) const {
    if (const auto set = limits.find(name); set != limits.end()) return set->second;
    for (const LimitRule& rule : kLimits)
      if (rule.name == name) return rule.otherwise;
    return std::nullopt;
  }
  bool operator==(const Validity&) const = default;
};

}  // namespace expc::plan
