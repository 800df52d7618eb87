// Assembles the page: sections in order, navigation, charts and data. The results themselves are in the page, too
// (deflated, base64), so that a reader can save them; they are the largest part, hence the limit below. An empty
// section is left out with its link.

#include "runtime/report/html.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Base64.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>
#include <zlib.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/report/assets.h"
#include "runtime/report/commands.h"
#include "runtime/report/description_text.h"
#include "runtime/report/document.h"
#include "runtime/report/html_parts.h"
#include "runtime/report/html_text.h"
#include "runtime/report/paint.h"
#include "runtime/report/records_json.h"
#include "runtime/report/sections.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// Above this many trials the page's data leaves out values of single runs: all of it would make the page larger than
/// browsers handle well.
constexpr size_t kMaxTrialsWhole = 20000;

/// Adds a way out to what the system said.
Error withWayOut(Error error) {
  std::string text;
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase& one) {
    text = fmt::format("the report {}; {}write it elsewhere with --html", one.message(),
                       one.convertToErrorCode() == std::errc::no_space_on_device ? "free some space, or " : "");
  });
  return failure("{}", text);
}

/// Returns the banner for null cards, which stays in sight wherever the page is scrolled to.
std::string nullCardsBanner(const Judgement& judgement) {
  if (!judgement.null_cards) return "";
  return "<div class=\"null-cards\" role=\"alert\"><p><b>Simulated GPUs:</b> " + html(kNullCardsNotice) +
         "</p></div>\n";
}

/// A section of the page, to which its navigation leads.
struct Section {
  std::string_view id, title;
  std::vector<Block> blocks;
};

/// Makes the sections in the order of the page. Braces evaluate from left to right, which numbers the charts.
std::vector<Section> sectionsOf(Page& page) {
  const Plan& plan = page.plan;
  const auto folded = [](std::string title, std::vector<Block> blocks) {
    std::vector<Block> all;
    if (!blocks.empty()) all.emplace_back(Part{.title = std::move(title), .blocks = std::move(blocks), .folded = true});
    return all;
  };
  std::vector<Block> points, description;
  append(description, describedParts(plan, page.judgement.description, page.results));
  if (!plan.points.empty() && !plan.metrics.empty()) points.emplace_back(pointTable(plan, page.judgement, {}));
  return {{"verdicts", "Verdicts", verdictBlocks(page)},
          {"tables", "Results", tableBlocks(page)},
          {"comparisons", "Comparisons", folded("All comparisons", comparisonParts(plan, page.judgement))},
          {"description", "Descriptions (not verdicts)", std::move(description)},
          {"profile", "Where the time went", attributionBlocks(page)},
          {"measurements", "All measurements", folded("All metrics at all points", std::move(points))},
          {"rehearsed", "Rehearsed",
           page.options.rehearsed ? rehearsalPart(plan, *page.options.rehearsed, {}).blocks : std::vector<Block>()},
          {"points", "Points left out", pointBlocks(page)},
          {"design", "Design", designBlocks(page)},
          {"trials", "Trials", trialBlocks(page)},
          {"environment", "Environment", environmentBlocks(page)}};
}

/// A stream that deflates what is written to it: results as text are several times as large as the whole page, so they
/// never exist as one text.
class Packer : public llvm::raw_ostream {
 public:
  Packer() {
    if (deflateInit(&stream_, Z_DEFAULT_COMPRESSION) != Z_OK) llvm::report_bad_alloc_error("zlib has no memory");
  }
  ~Packer() override { deflateEnd(&stream_); }

  /// Ends the stream and returns the packed bytes; nothing may be written afterwards.
  const std::string& finish() {
    flush();
    pack({}, Z_FINISH);
    return packed_;
  }

 private:
  void write_impl(const char* text, size_t size) override { pack({text, size}, Z_NO_FLUSH); }
  uint64_t current_pos() const override { return stream_.total_in; }

  void pack(std::string_view text, int flush) {
    char piece[1 << 14];
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = text.size();
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(piece);
      stream_.avail_out = sizeof piece;
      deflate(&stream_, flush);
      packed_.append(piece, sizeof piece - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  std::string packed_;
};

/// Returns the study's results as packed JSON; the script unpacks them when a reader saves them.
std::string dataElement(const Page& page) {
  Packer packer;
  writeResultJson(packer, page, page.options.rehearsed, page.results.trials.size() <= kMaxTrialsWhole);
  return "<script type=\"text/plain\" id=\"data\" data-packed=\"deflate\">" + llvm::encodeBase64(packer.finish()) +
         "</script>\n";
}

/// Notices in place of charts: the build lacks the library, or the browser runs no scripts.
constexpr char kNoCharts[] =
    "<p class=\"notice\">The charts are not drawn: this expc was built without its chart library. Run <code>make "
    "run</code> (or <code>tools/setup</code> and a new build), then <code>expc report</code>. Every number is in the "
    "tables.</p>\n";
constexpr char kNoScripts[] =
    "<noscript><p class=\"notice\">Charts need scripts, which are off. Every number is in the tables.</p></noscript>\n";

/// Returns the specifications of all charts and the library that draws them.
std::string chartElements(const Page& page) {
  json::Object specifications;
  for (size_t i = 0; i < page.charts.size(); ++i)
    specifications[fmt::format("chart-{}", i + 1)] = json::Object(page.charts[i].specification);
  // Scripts come last, when the elements that they fill are there.
  return fmt::format(
      "<script type=\"application/json\" id=\"chart-config\">{}</script>\n<script type=\"application/json\" "
      "id=\"charts\">{}</script>\n<script>{}</script>\n",
      scriptSafe(assets::chartConfig()), scriptSafe(canonicalJson(std::move(specifications))),
      scriptText(assets::chartLibrary()));
}

}  // namespace

bool hasChartLibrary() { return !assets::chartLibrary().empty(); }

std::string Page::figures(std::vector<Chart> all, const std::string& name) {
  std::string out = all.size() > 1 ? "<div class=\"facets\">" : "";
  for (Chart& chart : all) {
    // The number in the element's id is that of the specification in chartElements().
    const bool captioned = !chart.caption.empty();
    chart.name = captioned ? name + " at " + chart.caption : name;
    out += fmt::format(
        "<figure>{}<div class=\"chart\" id=\"chart-{}\" role=\"img\" aria-label=\"Chart of {}\"></div></figure>",
        captioned ? "<figcaption>" + html(chart.caption) + "</figcaption>" : "", charts.size() + 1, html(chart.name));
    charts.push_back(std::move(chart));
  }
  return out + (all.size() > 1 ? "</div>" : "");
}

std::vector<Chart> namedCharts(const Findings& findings) {
  // Making the sections collects their charts; the markup is dropped.
  const HtmlOptions options;
  Page page{findings, options};
  tableBlocks(page);
  attributionBlocks(page);
  return std::move(page.charts);
}

std::string htmlPage(const Findings& findings, const HtmlOptions& options) {
  // The time is taken once, so that every place of the page shows the same.
  HtmlOptions settled = options;
  if (settled.written == 0)
    settled.written = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  Page page{findings, settled};
  const Plan& plan = page.plan;
  const bool charts = options.charts && hasChartLibrary();

  std::string body, navigation;
  for (const Section& one : sectionsOf(page)) {
    const std::string inner = pageMarkup(one.blocks);
    // A section without content has no place in the navigation either.
    if (inner.empty()) continue;
    body += fmt::format("<section id=\"{}\"><h2>{}</h2>\n{}</section>\n", one.id, one.title, inner);
    navigation += fmt::format("<a href=\"#{}\">{}</a>", one.id, one.title);
  }
  return withHoles(assets::page(),
                   {{"policy", std::string(kPagePolicy)},
                    {"again", std::string(options.again ? kLoadAgain : "")},
                    {"title", (page.judgement.null_cards ? "Simulated GPUs: " : "") + html(plan.study)},
                    {"study", html(plan.study)},
                    {"lead", plan.doc.empty() ? "" : "<p class=\"lead\">" + htmlProse(plan.doc) + "</p>"},
                    {"answer", page.answer.markup()},
                    {"style", std::string(assets::style())},
                    {"above", nullCardsBanner(page.judgement)},
                    {"live", framed("<p class=\"notice\" role=\"status\">", options.live, "</p>\n")},
                    {"facts", pageMarkup(headFacts(page))},
                    {"navigation", navigation},
                    {"notice", page.charts.empty() ? ""
                               : charts            ? kNoScripts
                                                   : kNoCharts},
                    {"body", body},
                    {"command", html(replicateCommand(plan, options.folder))},
                    {"repeat", pageMarkup(repeatFacts(page))},
                    {"data", dataElement(page)},
                    {"charts", charts ? chartElements(page) : ""},
                    {"script", scriptText(assets::script())}});
}

std::string pageName(const Plan& plan) {
  std::string name = plan.study, asked;
  for (const std::string& preset : plan.presets) asked += "." + preset;
  for (const std::string& text : plan.overrides) asked += "." + text;
  if (asked.empty()) return name + ".html";
  // Only harmless characters of the selection come into the name. If some are left out, a digest keeps names of
  // different selections apart.
  constexpr size_t kLongest = 60;
  std::string plain;
  for (const char letter : asked)
    if (plain.size() < kLongest && (llvm::isAlnum(letter) || std::strchr("._=,-%", letter))) plain += letter;
  return name + plain + (plain == asked ? "" : "-" + base::shortHash(asked).substr(0, 8)) + ".html";
}

Error writeHtml(const std::string& path, const Findings& findings, const HtmlOptions& options) {
  const std::filesystem::path target(path);
  if (target.has_parent_path()) {
    std::error_code ignored;  // open says it better
    std::filesystem::create_directories(target.parent_path(), ignored);
  }
  // A results folder may be a stranger's, and a link in it lead elsewhere.
  // A path that the user named may be a link on purpose.
  const bool ours = target == std::filesystem::path(options.folder) / target.filename();
  Error error = files::write(path, htmlPage(findings, options), ours ? files::Links::Refused : files::Links::Followed);
  return error ? withWayOut(std::move(error)) : Error::success();
}

}  // namespace expc::report
