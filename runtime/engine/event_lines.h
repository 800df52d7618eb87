#pragma once

// What a rank writes on its event pipe, from bytes to reports. For launchers.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/launcher.h"

namespace expc::engine {

class EventLines {
 public:
  /// The reports of whole lines in what was written so far; only `what`, `event` and `text` are set. After nonsense
  /// nothing is read any more.
  std::vector<RankReport> add(std::string_view bytes);
  /// The same of a last line that was cut, once nothing more can come.
  std::vector<RankReport> end();

 private:
  void take(std::string_view line, std::vector<RankReport>& reports);
  void refuse(std::string why, std::vector<RankReport>& reports);

  std::string rest_;
  bool over_ = false;  // nonsense was seen: who writes on is not worth reading
};

}  // namespace expc::engine
