#include "cli/study_rows.h"

#include <algorithm>
#include <system_error>

#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/parallel.h"
#include "runtime/data/model/llama.h"

namespace expc::cli {

namespace fs = std::filesystem;

std::string pathIn(const json::Object& parameters, StringRef name, const fs::path& root) {
  const auto* level = parameters.getObject(name);
  if (level == nullptr || level->size() != 1) return "";
  const auto* payload = level->begin()->second.getAsArray();
  const auto path = payload && payload->size() == 1 ? (*payload)[0].getAsString() : std::nullopt;
  return path ? (root / path->str()).string() : "";
}

std::optional<dataset::RowsSource> rowsOf(const json::Object& parameters, const fs::path& root) {
  dataset::RowsSource source;
  text::TokenRowsOptions& rows = source.rows;
  rows.data.path = pathIn(parameters, "data", root);
  const auto kind = text::templateNamed(parameters.getString("template").value_or(""));
  if (rows.data.path.empty() || !kind) return std::nullopt;
  rows.data.kind = *kind;
  rows.data.pairs = parameters.getString("method") == StringRef("dpo");
  rows.data.row_limit = parameters.getInteger("row_limit").value_or(0);
  rows.max_length = parameters.getInteger("max_length").value_or(0);
  rows.tokenizer = pathIn(parameters, "tokenizer", root);
  rows.model_folder = pathIn(parameters, "model", root);
  const auto* validation = parameters.getObject("validation");
  const auto* column = validation ? validation->getArray("column") : nullptr;
  if (column && !column->empty())
    rows.data.part_column = (*column)[0].getAsString().value_or("");
  else
    source.validation = pathIn(parameters, "validation", root);
  source.questions = pathIn(parameters, "questions", root);
  if (const auto name = parameters.getString("model"))
    if (const auto config = llama::namedConfig(*name)) rows.vocabulary = config->vocabulary;
  if (!rows.model_folder.empty())
    // The plan has a note about a folder that cannot be read.
    if (const auto config = expectedToOptional(llama::readConfig(rows.model_folder)))
      rows.vocabulary = config->vocabulary;
  return source;
}

std::string keyOf(const json::Object& parameters) {
  json::Object key;
  for (const char* name :
       {"data", "template", "row_limit", "max_length", "tokenizer", "model", "validation", "questions"})
    if (const auto* value = parameters.get(name)) key[name] = *value;
  key["pairs"] = parameters.getString("method") == StringRef("dpo");
  return canonicalJson(json::Value(std::move(key)));
}

Error checkRows(const Plan& plan, const std::optional<std::set<std::string>>& chosen,
                std::vector<std::string>* in_part) {
  const bool evaluates =
      std::ranges::any_of(plan.design.kinds, [](const auto& kind) { return kind.kind == TrialKind::Quality; });
  std::set<std::string> seen;
  for (const Point& point : plan.points) {
    if (plan.workloads[point.workload].name != "llm.finetune" || !point.startable()) continue;
    if ((chosen && !chosen->contains(point.id)) || !seen.insert(keyOf(point.parameters)).second) continue;
    auto source = rowsOf(point.parameters, plan.root);
    if (!source) continue;
    if (in_part) source->rows.data.byte_limit = kPlannedBytes;
    // The engine names what is missing.
    std::error_code unreadable;
    bool there = true;
    for (const std::string& path : {source->rows.data.path, source->rows.tokenizer, source->rows.model_folder,
                                    source->validation, source->questions})
      there &= path.empty() || fs::exists(path, unreadable);
    if (!there) continue;
    std::vector<std::string> more;
    TRY(dataset::checkRows(*source, evaluates, base::allCores(), in_part ? *in_part : more));
  }
  return Error::success();
}

}  // namespace expc::cli
