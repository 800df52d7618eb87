#include "tests/fuzz/records.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/CRC.h>

#include <set>

#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/describe/description.h"
#include "runtime/store/maintenance.h"
#include "runtime/store/store.h"
#include "tests/fuzz/folder.h"

namespace expc::fuzz {
namespace {

constexpr llvm::StringLiteral kSum = ",\"sum\":\"";
constexpr size_t kSumSize = kSum.size() + 8 + 2;

/// Each line with a checksum that fits.
std::string withLineSums(StringRef text) {
  std::string whole;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    if (line.size() > kSumSize && line.substr(line.size() - kSumSize).starts_with(kSum))
      line = line.drop_back(kSumSize);
    whole += fmt::format("{}{}{:08x}\"}}\n", line.str(), kSum.str(), llvm::crc32(llvm::arrayRefFromStringRef(line)));
  }
  return whole;
}

void readLines(StringRef text) {
  for (StringRef line : llvm::split(text, '\n')) {
    auto entry = store::entryFromLine(line);
    if (!worked(entry)) continue;
    const std::string written = store::toLine(*entry);
    auto again = store::entryFromLine(written);
    hold(worked(again), "what is written is read");
    hold(store::toLine(*again) == written, "and is the same");
  }
}

/// Everything that a report and an export of the folder look at.
void report(const std::string& folder) {
  std::vector<std::string> messages;
  auto store = store::Store::openForReading(folder, messages);
  if (!worked(store)) return;
  std::set<std::string> studies;
  for (const auto& [id, run] : store->contents().runs) {
    if (studies.size() > 2 || !studies.insert(run.study).second) continue;
    auto json = base::parseJson(store->contents().plans.at(run.plan_json));
    if (!worked(json)) continue;
    auto plan = plan::planFromJson(*json);
    if (worked(plan)) (void)describe::conclude(*plan, store->load(*plan));
  }
  Error exported = store::exportSql(folder, folder + "/all.sqlite", messages);
  hold(!exported, "what is read is exported");
}

}  // namespace

void readJournal(const std::string& bytes) {
  readLines(bytes);
  const std::string fitting = withLineSums(bytes), folder = emptyFolder();
  readLines(fitting);
  write(folder + "/journal/000001.jsonl", fitting);
  report(folder);
}

}  // namespace expc::fuzz
