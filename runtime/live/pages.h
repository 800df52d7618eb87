#pragma once

// The report pages of a run while it goes on, as its results folder has it.

#include <llvm/Support/Error.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace expc::live {

/// Of several studies that one run measures, one after the other. It reads what any reader of the folder reads, holds
/// no lease and writes nothing.
class Pages {
 public:
  Pages(const std::vector<plan::Plan>& plans, std::string folder);
  size_t count() const { return pages_.size(); }

  /// The page of a study, which says above what runs and what is left, and loads itself again until the run has ended.
  /// It is made anew where something was recorded since, and at most once in twenty times as long as making it takes,
  /// so that looking costs a run no more than a twentieth of one core. A folder that cannot be read is told.
  std::string page(size_t study, std::optional<int> ended);

 private:
  struct Page {
    plan::Plan plan;
    std::string text = "";
    std::optional<int> ended = {};
    uint64_t recorded = 0;  // bytes of journals that `text` is made from
    std::chrono::steady_clock::time_point not_before = {};
  };
  llvm::Error refresh(Page& page, std::optional<int> ended) const;
  std::string links(const Page& shown) const;

  std::vector<Page> pages_;
  std::string folder_;
};

}  // namespace expc::live
