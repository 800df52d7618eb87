// What the lower phases know of a study.

#include "compiler/lsp/facts.h"

namespace expc::lsp {
namespace {

/// The part of a declaration that tells most beside its name; invalid where there is none.
template <typename Declared>
source::Range tellingPart(const Declared&) {
  return {};
}
source::Range tellingPart(const ast::ParamDecl& param) { return param.type.range; }
source::Range tellingPart(const ast::MetricDecl& metric) { return metric.type ? metric.type->range : source::Range{}; }
source::Range tellingPart(const ast::FactorDecl& factor) { return factor.levels->range; }
source::Range tellingPart(const ast::CompareDecl& compare) { return compare.call_range; }
source::Range tellingPart(const ast::WorkloadUse& use) { return use.name.range; }

}  // namespace

uint64_t productOf(const check::Study& study) {
  uint64_t product = 1;
  for (const check::Factor& factor : study.factors)
    if (__builtin_mul_overflow(product, static_cast<uint64_t>(factor.levels.size()), &product)) return UINT64_MAX;
  return product;
}

std::optional<PointCounts> countPoints(const check::Study& study, uint64_t most) {
  if (!study.valid || productOf(study) > most) return std::nullopt;
  diag::Collector ignored;
  diag::Emitter emitter(ignored);
  const select::Selected whole = select::Selected::whole(study);
  const std::unique_ptr<expand::Space> space = expand::Space::compile(whole, emitter);
  if (!space) return std::nullopt;
  PointCounts counts{points::Seen(*space)};
  const expand::Walk walk = expand::walk(*space, {}, [&](expand::Levels point) {
    ++counts.points;
    counts.seen.add(point);
    return true;
  });
  if (walk.end != expand::Space::End::Done) return std::nullopt;
  counts.product = walk.product;
  return counts;
}

const check::Study* checkedStudy(const check::Program& program, const ast::StudyDecl& declaration) {
  for (const auto& study : program.studies)
    if (study->declaration == &declaration) return study.get();
  return nullptr;
}

const check::Workload* checkedWorkload(const check::Program& program, source::Range name) {
  for (const auto& workload : program.workloads)
    if (workload->range == name) return workload.get();
  return nullptr;
}

std::string detailOf(const Analysis& analysis, const check::Symbol& symbol) {
  const source::Range part =
      std::visit([](const auto* declared) { return tellingPart(*declared); }, symbol.declaration);
  if (part.isValid()) return writtenShort(analysis, part);
  return symbol.kind == check::SymbolKind::Level ? "" : std::string(toString(symbol.kind));
}

std::string_view docOf(const check::Symbol& symbol) {
  return std::visit(
      [](const auto* declared) -> std::string_view {
        if constexpr (requires { declared->doc; }) return declared->doc;
        return "";
      },
      symbol.declaration);
}

std::string writtenShort(const Analysis& analysis, source::Range range) {
  constexpr size_t kMost = 60;
  const std::string_view written = analysis.sources.text(range);
  if (written.size() > kMost || written.find('\n') != std::string_view::npos) return "";
  return std::string(written);
}

std::string levelList(const check::Factor& factor, size_t most) {
  std::string text;
  for (size_t at = 0; at < factor.levels.size() && at < most; ++at)
    text += (text.empty() ? "" : ", ") + factor.levels[at].label;
  if (factor.levels.size() > most) text += ", …";
  return text;
}

}  // namespace expc::lsp
