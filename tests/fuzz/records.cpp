#include "tests/fuzz/records.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/CRC.h>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/json.h"
#include "runtime/store/store.h"
#include "tests/fuzz/folder.h"

namespace expc::fuzz {
namespace {

constexpr llvm::StringLiteral kSum = ",\"sum\":\"";
constexpr size_t kSumSize = kSum.size() + 8 + 2;

/// Each line with a checksum that fits.
std::string withSums(llvm::StringRef text) {
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

void readLines(llvm::StringRef text) {
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    auto entry = store::entryFromLine(line);
    if (!worked(entry)) continue;
    const std::string written = store::toLine(*entry);
    auto again = store::entryFromLine(written);
    hold(worked(again), "what is written is read");
    hold(store::toLine(*again) == written, "and is the same");
  }
}

/// Everything that a report of the folder looks at.
void report(const std::string& folder) {
  std::vector<std::string> messages;
  auto store = store::Store::openForReading(folder, messages);
  if (!worked(store)) return;
  auto rows = store->database().dump();
  (void)worked(rows);
  std::vector<std::string> studies;
  {
    store::Statement runs(store->database().handle(), folder, "SELECT DISTINCT study FROM run LIMIT 3");
    while (runs.step()) studies.push_back(runs.text(0));
    llvm::consumeError(runs.take());
  }
  for (const std::string& study : studies) {
    auto run = store->latestRun(study, false);
    if (!worked(run) || !*run) continue;
    auto json = plan::parseJson((*run)->plan_json);
    if (!worked(json)) continue;
    auto plan = plan::planFromJson(*json);
    if (!worked(plan)) continue;
    auto results = store->load(*plan);
    if (worked(results)) (void)analysis::judge(*plan, *results);
  }
}

}  // namespace

void readJournal(const std::string& bytes) {
  readLines(bytes);
  const std::string fitting = withSums(bytes), folder = emptyFolder();
  readLines(fitting);
  write(folder + "/journal/000001.jsonl", fitting);
  report(folder);
}

void readIndex(const std::string& bytes) {
  const std::string folder = emptyFolder();
  write(folder + "/expc.sqlite", bytes);
  report(folder);
  auto database = store::Database::openForReading(folder + "/expc.sqlite");
  if (!worked(database) || database->state() != store::SchemaState::Current) return;
  auto rows = database->dump();
  (void)worked(rows);
  auto keys = database->keys();
  (void)worked(keys);
  auto current = database->isCurrent({});
  (void)worked(current);
}

}  // namespace expc::fuzz
