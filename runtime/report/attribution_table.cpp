#include "runtime/report/attribution_table.h"

#include "runtime/analysis/format.h"
#include "runtime/plan/json.h"
#include "runtime/report/attribution_text.h"
#include "runtime/report/layout.h"
#include "runtime/report/result_json.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

/// Categories that a summary lists, of the phases of a step and of other views.
constexpr size_t kPhases = 40, kCategories = 6;
constexpr unsigned kCategoryWidth = 44;

class Printer : TerminalText {
 public:
  Printer(const plan::Plan& plan, const analysis::Attribution& attribution, const ResultTextOptions& options)
      : TerminalText(options.width, options.colour), plan_(plan), attribution_(attribution), width_(options.width) {}

  std::string print(Detail detail) {
    std::string judged = judgedText(attribution_);
    if (!judged.empty()) judged = ", " + printable(judged);
    line(paint_.bold(printable(pairText(plan_, attribution_))) + judged + ": " + stepText(attribution_), 2, 4);
    for (const std::string& caution : cautions(plan_, attribution_))
      line(paint_.yellow("caution:") + " " + printable(caution), 4, 6);
    for (const analysis::AttributionView& view : attribution_.views) {
      const size_t most = view.name == "step" ? kPhases : kCategories;
      table(view, detail == Detail::Everything ? view.categories.size() : most);
    }
    return std::move(out_);
  }

 private:
  void table(const analysis::AttributionView& view, size_t most) {
    const auto [treated, baseline] = levelNames(plan_, attribution_);
    std::vector<std::string> header{view.title, printable(treated), printable(baseline), "difference"};
    if (attribution_.interval) header.push_back(intervalHead());
    header.push_back("share of it");
    TextTable table(std::move(header));
    for (const analysis::CategoryShare& category : shortened(view, most)) {
      std::vector<std::string> row{
          elided(printable(categoryText(category)), kCategoryWidth), analysis::formatQuantity(category.treated, "s"),
          analysis::formatQuantity(category.baseline, "s"), differenceText(category.difference())};
      if (attribution_.interval) row.push_back(intervalText(category));
      row.push_back(shareText(category));
      table.add(std::move(row));
    }
    out_ += table.render(width_, 4, paint_);
    if (!view.note.empty()) line(paint_.faint("(" + view.note + ")"), 4, 5);
  }

  const plan::Plan& plan_;
  const analysis::Attribution& attribution_;
  const unsigned width_;
};

Object categoryJson(const analysis::CategoryShare& category) {
  Object object{{"name", plan::jsonText(category.name)},
                {"treated", category.treated},
                {"baseline", category.baseline},
                {"interval", intervalJson(category.interval)},
                {"share", category.share ? Value(*category.share) : Value(nullptr)}};
  if (category.treated_count + category.baseline_count > 0) {
    object["treated_count"] = category.treated_count;
    object["baseline_count"] = category.baseline_count;
  }
  if (category.beside) object["beside"] = true;
  return object;
}

}  // namespace

std::string attributionText(const plan::Plan& plan, const analysis::Attribution& attribution, Detail detail,
                            const ResultTextOptions& options) {
  return Printer(plan, attribution, options).print(detail);
}

Object attributionJson(const analysis::Attribution& attribution) {
  Object views, notes;
  for (const analysis::AttributionView& view : attribution.views) {
    Array categories;
    for (const analysis::CategoryShare& category : view.categories) categories.push_back(categoryJson(category));
    views[view.name] = std::move(categories);
    if (!view.note.empty()) notes[view.name] = view.note;
  }
  Array timed;
  for (const analysis::TimedEffect& effect : attribution.timed)
    timed.push_back(Object{{"comparison", plan::jsonText(effect.comparison)},
                           {"interval", intervalJson(effect.interval)},
                           {"may_be_none", effect.may_be_none}});
  return Object{{"treated", plan::jsonText(attribution.treated)},
                {"baseline", plan::jsonText(attribution.baseline)},
                {"comparisons", plan::jsonTexts(attribution.comparisons)},
                {"criteria", plan::jsonTexts(attribution.criteria)},
                {"blocks", attribution.blocks},
                {"treated_step", attribution.treated_seconds},
                {"baseline_step", attribution.baseline_seconds},
                {"interval", intervalJson(attribution.interval)},
                {"timed", std::move(timed)},
                {"may_be_none", attribution.mayBeNone() != nullptr},
                {"views", std::move(views)},
                {"notes", std::move(notes)}};
}

}  // namespace expc::report
