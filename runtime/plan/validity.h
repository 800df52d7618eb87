#pragma once

// When a trial was disturbed so much that it does not count: the limits that a study sets, by their names in a design.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace expc::plan {

/// A limit that a design may set. What lies above it makes a trial invalid.
struct LimitRule {
  std::string_view name;            // in the language and in plans: `other_cpu`
  std::string_view unit;            // "share", "B", or "" for a number
  std::optional<double> otherwise;  // what holds where the study says nothing; absent: it is noted and never judged
};

inline constexpr std::array<LimitRule, 8> kLimits = {{{"other_cpu", "share", std::nullopt},
                                                      {"other_gpu", "", 0.0},
                                                      {"throttled", "share", 0.0},
                                                      {"clock_drop", "share", std::nullopt},
                                                      {"ecc_errors", "", 0.0},
                                                      {"swapped", "B", std::nullopt},
                                                      {"page_faults", "", std::nullopt},
                                                      {"pressure", "share", std::nullopt}}};

/// The most that `repeat_disturbed` may say.
inline constexpr unsigned kMostDisturbed = 100;
/// The most that `share` may say.
inline constexpr unsigned kMostShare = 1024;

struct Validity {
  /// How often a place of a block is tried that something disturbs each time.
  unsigned attempts = 3;
  std::map<std::string, double, std::less<>> limits;  // that the study sets, in base units

  /// The limit that holds, or nothing.
  std::optional<double> limit(std::string_view name) const {
    if (const auto set = limits.find(name); set != limits.end()) return set->second;
    for (const LimitRule& rule : kLimits)
      if (rule.name == name) return rule.otherwise;
    return std::nullopt;
  }
  bool operator==(const Validity&) const = default;
};

}  // namespace expc::plan
