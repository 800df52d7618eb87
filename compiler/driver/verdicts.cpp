#include "compiler/driver/verdicts.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "compiler/driver/exit_codes.h"
#include "runtime/analysis/judgement.h"
#include "runtime/plan/json.h"
#include "runtime/report/html.h"
#include "runtime/report/result_json.h"
#include "runtime/report/result_text.h"
#include "runtime/store/store.h"

namespace expc::driver {

namespace {

llvm::Expected<store::Results> loadResults(const plan::Plan& plan, const std::string& folder,
                                           std::optional<bool> null_cards, const Console& console) {
  std::vector<std::string> messages;
  llvm::Expected<store::Store> store = store::Store::openForReading(folder, messages);
  if (!store) return store.takeError();
  for (const std::string& message : messages) console.message(message);
  return null_cards ? store->loadLatest(plan, *null_cards) : store->load(plan);
}

}  // namespace

int showVerdicts(const plan::Plan& plan, const ReportOptions& options, std::optional<bool> null_cards,
                 const Console& console) {
  llvm::Expected<store::Results> results = loadResults(plan, options.results, null_cards, console);
  if (!results) return console.error(results.takeError());
  const analysis::Judgement judgement = analysis::judge(plan, *results);

  const std::string page =
      options.html.empty() ? (std::filesystem::path(options.results) / (plan.study + ".html")).string() : options.html;
  const std::optional<rehearsal::Study> rehearsed = rehearsedOf(plan, options.results, console);
  report::HtmlOptions html;
  html.rehearsed = rehearsed ? &*rehearsed : nullptr;
  llvm::Error written = report::writeHtml(page, plan, judgement, *results, html);
  const bool page_failed = static_cast<bool>(written);
  if (page_failed) console.error(std::move(written));

  bool printed;
  if (options.json) {
    printed = console.print(plan::prettyJson(report::resultJson(plan, judgement, *results, html.rehearsed)) + "\n");
  } else {
    report::ResultTextOptions text;
    text.width = console.width();
    text.colour = console.colourOut();
    if (!page_failed) text.html_path = page;
    printed = console.print(report::resultText(plan, judgement, *results, text));
  }
  return page_failed || !printed ? kError : analysis::exitCode(judgement);
}

std::optional<rehearsal::Study> rehearsedOf(const plan::Plan& plan, const std::string& results,
                                            const Console& console) {
  llvm::Expected<rehearsal::Study> found = rehearsal::read(results, plan.study);
  if (found) return std::move(*found);
  console.message("no rehearsal is shown: " + llvm::toString(found.takeError()));
  return std::nullopt;
}

int worse(int first, int second) {
  static constexpr std::array<int, 6> kOrder = {kInterrupted, kError, kSomeFail, kSomeUndecided, kNothingRan, kSuccess};
  return *std::min(std::find(kOrder.begin(), kOrder.end(), first), std::find(kOrder.begin(), kOrder.end(), second));
}

}  // namespace expc::driver
