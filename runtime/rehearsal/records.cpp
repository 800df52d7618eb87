#include "runtime/rehearsal/records.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/numbers.h"

namespace expc::rehearsal {

std::vector<nullgpu_record> recordsIn(const std::string& folder) {
  std::vector<nullgpu_record> records;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto text = expectedToOptional(files::read(entry.path()));
    // A file without the mark is one of a process that was killed while it made it.
    if (!text || (*text)->getBufferSize() != sizeof(nullgpu_record) ||
        !(*text)->getBuffer().starts_with(NULLGPU_RECORD_MARK))
      continue;
    std::memcpy(&records.emplace_back(), (*text)->getBufferStart(), sizeof(nullgpu_record));
  }
  std::ranges::sort(records, {}, [](const nullgpu_record& one) { return std::pair(one.rank, one.pid); });
  return records;
}

protocol::Rehearsed rehearsedOf(const std::vector<nullgpu_record>& records) {
  const auto traffic = [](const nullgpu_traffic& of) { return protocol::Traffic{of.calls, of.bytes}; };
  protocol::Rehearsed rehearsed;
  for (const nullgpu_record& record : records) {
    protocol::RehearsedRank rank;
    for (const nullgpu_card_record& card : record.cards) {
      // A process without torch's allocator is known by what it holds of the card.
      const uint64_t allocated = card.reserved ? card.allocated : card.peak;
      rank.device_memory_allocated = std::max(rank.device_memory_allocated, allocated);
      rank.device_memory_reserved = std::max(rank.device_memory_reserved, card.reserved ? card.reserved : card.peak);
    }
    if (rank.device_memory_reserved == 0 && record.launches == 0) continue;
    rank.launches = record.launches;
    rank.synchronisations = record.synchronizations;
    rank.to_device = traffic(record.copies[1]);
    rank.from_device = traffic(record.copies[2]);
    rank.within_devices = traffic(record.copies[3]);
    for (const auto& each : record.collectives)
      if (each.name[0]) rank.collectives[each.name] = {each.calls, each.bytes};
    rehearsed.ranks.push_back(std::move(rank));
  }
  return rehearsed;
}

std::string lackOfMemory(const std::vector<nullgpu_record>& records) {
  for (const nullgpu_record& record : records)
    for (size_t card = 0; card < NULLGPU_RECORD_CARDS; ++card)
      if (const nullgpu_card_record& of = record.cards[card]; of.refused > 0)
        return fmt::format("card {} would need at least {}", card, base::formatQuantity(double(leastCard(of)), "B"));
  return "";
}

}  // namespace expc::rehearsal
