// What the lower phases know of a study.

#include "compiler/lsp/facts.h"

#include "compiler/expand/walk.h"

namespace expc::lsp {
namespace {

uint64_t productOf(const check::Study& study) {
  uint64_t product = 1;
  for (const check::Factor& factor : study.factors)
    if (__builtin_mul_overflow(product, static_cast<uint64_t>(factor.levels.size()), &product)) return UINT64_MAX;
  return product;
}

}  // namespace

std::optional<PointCounts> countPoints(const check::Study& study, uint64_t most) {
  if (!study.valid || productOf(study) > most) return std::nullopt;
  diag::Collector ignored;
  diag::Emitter emitter(ignored);
  const check::Selected whole = check::Selected::whole(study);
  const std::unique_ptr<expand::Space> space = expand::Space::compile(whole, emitter);
  if (!space) return std::nullopt;
  PointCounts counts;
  for (const check::Factor& factor : study.factors) counts.levels.emplace_back(factor.levels.size());
  expand::Walker walker(*space, {});
  const expand::Space::End end = walker.run([&](expand::Levels point) {
    ++counts.points;
    for (size_t factor = 0; factor < point.size(); ++factor)
      if (point[factor] < counts.levels[factor].size()) ++counts.levels[factor][point[factor]];
    return true;
  });
  if (end != expand::Space::End::Done) return std::nullopt;
  counts.product = walker.product();
  return counts;
}

const check::Study* checkedStudy(const check::Program& program, const ast::StudyDecl& declaration) {
  for (const auto& study : program.studies)
    if (study->declaration == &declaration) return study.get();
  return nullptr;
}

std::string levelList(const check::Factor& factor, size_t most) {
  std::string text;
  for (size_t at = 0; at < factor.levels.size() && at < most; ++at)
    text += (text.empty() ? "" : ", ") + factor.levels[at].label;
  if (factor.levels.size() > most) text += ", …";
  return text;
}

}  // namespace expc::lsp
