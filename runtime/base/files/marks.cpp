#include "runtime/base/files/marks.h"

#include <llvm/Support/Endian.h>

#include <string>

namespace expc::files {

bool isOurs(StringRef whole) {
  constexpr size_t kLooked = 4096, kSqliteAt = 68;
  if (whole.starts_with("SQLite format 3"))
    return whole.size() >= kSqliteAt + 4 && llvm::support::endian::read32be(whole.data() + kSqliteAt) == kSqliteMark;
  if (whole.starts_with("PAR1")) return whole.take_back(16 * kLooked).contains(kExportSchema);
  const std::string text = whole.take_front(kLooked).str() + whole.take_back(kLooked).str();
  const auto has = [&](const std::string& mark) { return text.find(mark) != std::string::npos; };
  const std::string schema = std::string("\"") + kSchemaMark;
  return has(kJunitMark) || has("\"schema\":" + schema) || has("\"schema\": " + schema) || has("<sub>expc run ") ||
         has("expc report</title>") || has("study,point,label,control,kind,trial,counts,");
}

}  // namespace expc::files
