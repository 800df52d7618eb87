#include "compiler/survey/survey.h"

#include <fmt/format.h>

#include "compiler/survey/published.h"

namespace expc::lower {
namespace {

class Surveyor {
 public:
  Surveyor(const expand::Space& space, Machine& machine, PointWriter* writer)
      : space_(space), study_(space.study()), machine_(machine), writer_(writer), pairs_(space), survey_(space) {
    survey_.comparisons.resize(study_.comparisons.size());
    values_.resize(study_.comparisons.size());
    for (const check::Criterion* criterion : space.selected().criteria) {
      questions_.emplace_back(space, *criterion);
      published_.emplace_back();
      if (criterion->like)
        published_.back() = std::make_unique<PublishedValues>(space, study_.references[*criterion->like]);
      Survey::OfCriterion& of = survey_.criteria.emplace_back(*criterion);
      for (const check::Factor& factor : study_.factors) of.levels.emplace_back(factor.levels.size() + 1, 0);
    }
  }

  std::optional<Survey> run(diag::Emitter& emitter) {
    expand::Walker::Options options;
    options.count_removed = true;
    expand::Walker walker(space_, options);
    auto end = walker.run([&](expand::Levels point) { return visit(point); });
    switch (end) {
      case expand::Space::End::TooMany:
        expand::reportTooMany(study_, expand::kMaxPoints, walker.exhausted(), emitter);
        return std::nullopt;
      case expand::Space::End::Failed:
        space_.reportFailure(emitter);
        return std::nullopt;
      case expand::Space::End::Stopped:
        failed_->reportFailure(failed_at_, emitter);
        return std::nullopt;
      case expand::Space::End::Done:
        break;
    }
    survey_.product = walker.product();
    survey_.removed = walker.removed();
    return std::move(survey_);
  }

 private:
  bool visit(expand::Levels point) {
    ++survey_.points;
    survey_.seen.add(point);
    bool runs = machine_.unavailable(point).empty();
    survey_.available += runs;
    survey_.expected_infeasible += runs && !machine_.expectedInfeasible(point).empty();
    if (writer_) {
      uint64_t hash = writer_->hash(point);
      survey_.ids_sum += hash;
      survey_.ids_mix += hash * (hash >> 32 | 1);
    }
    for (unsigned i = 0; i < values_.size(); ++i) compare(i, point);
    for (size_t i = 0; i < questions_.size(); ++i) {
      Question::Answer answer = questions_[i].asks(point, values_);
      if (answer == Question::Answer::Failed) {
        failed_ = &questions_[i];
        failed_at_.assign(point.begin(), point.end());
        return false;
      }
      if (answer == Question::Answer::Yes) ask(i, point, runs);
    }
    return true;
  }

  void compare(unsigned index, expand::Levels point) {
    const check::Comparison& comparison = study_.comparisons[index];
    Survey::OfComparison& of = survey_.comparisons[index];
    values_[index] = pairs_.value(comparison, point);
    switch (values_[index].found) {
      case Pairs::Found::NotTreated:
        return;
      case Pairs::Found::None:
        ++of.without;
        ++of.reasons[values_[index].missing];
        return;
      case Pairs::Found::Several:
        if (++of.several == 1) of.example.assign(point.begin(), point.end());
        return;
      case Pairs::Found::One:
        ++of.pairs;
        of.cells += runs(comparison, point);
        return;
    }
  }

  bool runs(const check::Comparison& comparison, expand::Levels point) const {
    bool all = true;
    if (machine_.judgesAvailability())
      pairs_.reads(comparison, point, [&](expand::Levels read) { all = all && machine_.unavailable(read).empty(); });
    return all;
  }

  void ask(size_t index, expand::Levels point, bool point_runs) {
    Survey::OfCriterion& of = survey_.criteria[index];
    if (published_[index] && !published_[index]->of(questions_[index].criterion(), pairs_, point)) {
      if (++of.unpublished == 1) of.example.assign(point.begin(), point.end());
      return;
    }
    auto compared = questions_[index].comparison();
    const check::Comparison* comparison = compared ? &study_.comparisons[*compared] : nullptr;
    if (questions_[index].criterion().feasible && !fits(machine_, pairs_, comparison, point)) return;
    of.shape.add(point);
    if (comparison ? !runs(*comparison, point) : !point_runs) return;
    ++of.cells;
    for (size_t factor = 0; factor < point.size(); ++factor)
      of.levels[factor][point[factor] == expand::kAbsent ? of.levels[factor].size() - 1 : point[factor]] = 1;
    if (!machine_.judgesMemory()) return;
    bool infeasible = false;
    auto look = [&](expand::Levels read) {
      const std::string why = machine_.expectedInfeasible(read);
      if (why.empty()) return;
      infeasible = true;
      if (of.estimate.empty()) {
        of.estimate = fmt::format("at {} {}", expand::labelOf(study_, read), why);
        of.estimate_range = machine_.estimateRange();
      }
    };
    if (comparison)
      pairs_.reads(*comparison, point, look);
    else
      look(point);
    of.infeasible += infeasible;
  }

  const expand::Space& space_;
  const check::Study& study_;
  Machine& machine_;
  PointWriter* writer_;
  Pairs pairs_;
  std::vector<Question> questions_;
  std::vector<std::unique_ptr<PublishedValues>> published_;  // by criterion; null without a reference
  std::vector<Pairs::Answer> values_;                        // by comparison, at the point in hand
  Survey survey_;
  const Question* failed_ = nullptr;
  std::vector<unsigned> failed_at_;
};

}  // namespace

std::optional<Survey> surveyOf(const expand::Space& space, Machine& machine, PointWriter* writer,
                               diag::Emitter& emitter) {
  return Surveyor(space, machine, writer).run(emitter);
}

bool fits(Machine& machine, const Pairs& pairs, const check::Comparison* comparison, expand::Levels point) {
  if (!machine.judgesMemory()) return true;
  if (!comparison) return machine.expectedInfeasible(point).empty();
  bool all = true;
  pairs.reads(*comparison, point, [&](expand::Levels read) { all = all && machine.expectedInfeasible(read).empty(); });
  return all;
}

std::string whyWithout(const Survey::OfComparison& comparison, const check::Study& study,
                       const source::SourceManager& sources) {
  std::string result;
  for (const auto& [missing, count] : comparison.reasons) {
    if (!result.empty()) result += "; ";
    if (comparison.reasons.size() > 1) result += fmt::format("{}: ", count);
    result += text(missing, study, sources);
  }
  return result;
}

}  // namespace expc::lower
