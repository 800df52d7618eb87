#include "runtime/live/pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "runtime/analysis/index.h"
#include "runtime/analysis/judgement.h"
#include "runtime/analysis/needs.h"
#include "runtime/report/document.h"
#include "runtime/report/html.h"
#include "runtime/report/html_text.h"
#include "runtime/report/layout.h"
#include "runtime/report/wording.h"
#include "runtime/store/store.h"

namespace expc::live {
namespace {

constexpr size_t kShownRunning = 8;
constexpr unsigned kShare = 20;  // making a page takes one of so many parts of the time

/// "14 of 16 timed trials, about 3 s left". Controls are trials too.
std::string progressText(const plan::Plan& plan, const store::Results& results, const analysis::Index& index) {
  std::vector<std::string> kinds;
  for (const plan::KindDesign& design : plan.design.kinds) {
    const auto done = std::ranges::count_if(results.trials, [&](const store::Trial& trial) {
      return trial.key->kind == design.kind &&
             (trial.status == store::TrialStatus::Valid || trial.status == store::TrialStatus::Timeout ||
              trial.status == store::TrialStatus::Infeasible);
    });
    const uint64_t left = analysis::remaining(index, design.kind).trials;
    kinds.push_back(fmt::format("{} of {} {} trials", done, done + left, toString(design.kind)));
    if (const auto seconds = index.typicalSeconds(design.kind); seconds && left > 0)
      kinds.back() += fmt::format(", about {} left", report::durationText(*seconds * static_cast<double>(left)));
  }
  return fmt::format("{}", fmt::join(kinds, "; "));
}

std::string runningText(const plan::Plan& plan, const std::vector<store::Trial>& unended) {
  std::vector<std::string> running;
  for (const store::Trial& trial : unended)
    if (plan.findPoint(trial.place().point))
      running.push_back(fmt::format("{} {}", toString(trial.key->kind), report::placeText(plan, trial.place())));
  if (running.empty()) return "";
  return ". Running now: " + report::fewOf(std::move(running), kShownRunning);
}

}  // namespace

Pages::Pages(const std::vector<plan::Plan>& plans, std::string folder) : folder_(std::move(folder)) {
  for (const plan::Plan& plan : plans) pages_.push_back({plan});
}

/// To the pages of the other studies.
std::string Pages::links(const Page& shown) const {
  std::string text;
  for (size_t i = 0; i < pages_.size(); ++i)
    if (&pages_[i] != &shown) text += fmt::format(" <a href=\"/{}\">{}</a>", i, report::html(pages_[i].plan.study));
  return text.empty() ? "" : " Other studies of this run:" + text;
}

llvm::Error Pages::refresh(Page& page, std::optional<int> ended) const {
  auto journals = store::listJournals(folder_);
  if (!journals) return journals.takeError();
  uint64_t bytes = 0;
  for (const store::JournalFile& journal : *journals) bytes += journal.bytes + journal.ignored;
  const auto now = std::chrono::steady_clock::now();
  const bool is_new = bytes != page.recorded && now >= page.not_before;
  if (!page.text.empty() && ended == page.ended && !is_new) return llvm::Error::success();
  std::vector<std::string> messages;
  auto store = store::Store::openForReading(folder_, messages);
  if (!store) return store.takeError();
  const store::Results results = store->load(page.plan);
  const analysis::Index index(page.plan, results);
  report::HtmlOptions options;
  options.folder = folder_;
  options.live =
      report::html(progressText(page.plan, results, index) + runningText(page.plan, store->unendedTrials())) + "." +
      (ended ? fmt::format(" The run has ended with exit code {}.", *ended) : "") + links(page);
  options.again = !ended;
  page.text = report::htmlPage(page.plan, analysis::judge(index), results, options);
  page.ended = ended;
  page.recorded = bytes;
  page.not_before = now + kShare * (std::chrono::steady_clock::now() - now);
  return llvm::Error::success();
}

std::string Pages::page(size_t study, std::optional<int> ended) {
  Page& page = pages_.at(study);
  if (auto error = refresh(page, ended))
    return fmt::format(
        "<!doctype html>\n<html lang=\"en\"><head><title>{0}</title>{1}</head><body><p>{2}</p></body>"
        "</html>\n",
        report::html(page.plan.study), report::kLoadAgain,
        report::html(report::printable(llvm::toString(std::move(error)))));
  return page.text;
}

}  // namespace expc::live
