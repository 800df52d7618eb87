#include "runtime/judge/results.h"

namespace expc::judge {
namespace {

/// The entry that `at` names by its key. Entries are only ever added to a list or all removed, so `at` fits while it
/// has as many.
template <class Entry, class Map, class KeyOf>
const Entry* lookUp(const std::vector<Entry>& entries, Map& at, const typename Map::key_type& key, KeyOf keyOf) {
  if (at.size() != entries.size()) {
    at.clear();
    for (size_t i = 0; i < entries.size(); ++i) at.try_emplace(keyOf(entries[i]), i);
  }
  const auto found = at.find(key);
  return found == at.end() ? nullptr : &entries[found->second];
}

}  // namespace

const Summary* Judgement::find(const std::string& point, const std::string& metric) const {
  return lookUp(summaries, summaries_at_, {point, metric},
                [](const Summary& summary) { return std::pair(summary.point, summary.metric); });
}

const PointStatus* Judgement::status(const std::string& point, TrialKind kind) const {
  return lookUp(points, points_at_, {point, kind},
                [](const PointStatus& status) { return std::pair(status.point, status.kind); });
}

}  // namespace expc::judge
