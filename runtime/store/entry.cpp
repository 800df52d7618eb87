#include "runtime/store/entry.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/CRC.h>

#include "runtime/store/entry_json.h"

namespace expc::store {
namespace {

constexpr std::string_view kSum = ",\"sum\":\"";
constexpr size_t kSumSize = kSum.size() + 8 + 2;  // eight digits, a quote, the closing brace

std::string sumOf(std::string_view text) {
  return fmt::format("{:08x}", llvm::crc32(llvm::arrayRefFromStringRef(text)));
}

/// A plan is long, each run's journal has it, and mostly nobody looks at it: one that is what its hash says is taken as
/// it stands. `text` is the line without its checksum.
std::optional<PlanText> planFromLine(llvm::StringRef text) {
  if (!text.consume_front("{\"entry\":\"plan\",\"hash\":\"")) return std::nullopt;
  auto [hash, rest] = text.split('"');
  if (!rest.consume_front(",\"text\":") || plan::shortHash(rest) != hash) return std::nullopt;
  return PlanText{hash.str(), rest.str()};
}

}  // namespace

std::string toLine(const Entry& entry) {
  std::string text = plan::canonicalJson(writeEntry(entry));
  text.pop_back();
  return fmt::format("{}{}{}\"}}", text, kSum, sumOf(text));
}

llvm::Expected<Entry> entryFromLine(std::string_view line) {
  const size_t at = line.size() < kSumSize ? std::string_view::npos : line.size() - kSumSize;
  if (at == std::string_view::npos || line.substr(at, kSum.size()) != kSum)
    return llvm::createStringError("has no checksum at its end");
  if (line.substr(at + kSum.size(), 8) != sumOf(line.substr(0, at)))
    return llvm::createStringError("its checksum does not fit: it was damaged or edited");
  if (auto plan = planFromLine(llvm::StringRef(line.data(), at))) return std::move(*plan);
  auto value = plan::parseJson(line);
  if (!value) return value.takeError();
  plan::JsonErrors errors;
  const plan::JsonPath root;
  plan::JsonRecord io(errors, *value, root);
  Entry entry = readEntry(io);
  if (auto error = errors.take("a line of the journal")) return error;
  return entry;
}

}  // namespace expc::store
