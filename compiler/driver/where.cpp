#include "compiler/driver/where.h"

namespace expc::driver {

std::optional<std::set<std::string>> pointsWhere(lower::Prepared& prepared, const std::string& condition,
                                                 diag::Emitter& emitter) {
  const auto holds = prepared.condition(condition, emitter);
  if (!holds) return std::nullopt;
  std::set<std::string> ids;
  prepared.space().forEach([&](expand::Levels point) {
    if (holds->holds(point)) ids.insert(std::string(prepared.writer().id(point)));
    return true;
  });
  return ids;
}

}  // namespace expc::driver
