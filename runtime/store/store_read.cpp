// Store: what is there, and what of it counts for a plan.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/plan/json.h"
#include "runtime/store/part.h"
#include "runtime/store/rows.h"
#include "runtime/store/store.h"

namespace expc::store {
namespace {

template <typename Record, typename Read>
llvm::Expected<std::vector<Record>> readAll(Statement& statement, Read read) {
  std::vector<Record> records;
  while (statement.step()) records.push_back(read(statement));
  if (auto error = statement.take()) return error;
  return records;
}

/// The plan of a run; nothing where it is not read any more.
std::optional<plan::Plan> planOf(const Run& run, Database& database) {
  Statement text(database.handle(), database.path(), "SELECT text FROM plan WHERE hash = ?1");
  const bool found = text.bind({run.plan_json}).step();
  auto value = found ? plan::parseJson(text.text(0)) : llvm::createStringError("no such plan");
  auto plan = value ? plan::planFromJson(*value) : llvm::Expected<plan::Plan>(value.takeError());
  llvm::consumeError(text.take());
  if (plan) return std::move(*plan);
  llvm::consumeError(plan.takeError());
  return std::nullopt;
}

/// Runs that judged, of whatever study: which of their trials count, and so how much was there, is the reader's matter.
/// Those that do not say what they judged (of an older expc, or killed) are asked by their plans.
llvm::Expected<std::vector<PastLook>> readLooks(Database& database) {
  Statement statement(database.handle(), database.path(),
                      fmt::format("SELECT {} FROM run ORDER BY id", kRunColumns).c_str());
  std::map<std::string, std::shared_ptr<const Judged>> known;  // runs of one plan share what they judged
  std::vector<PastLook> looks;
  while (statement.step()) {
    const Run run = readRun(statement);
    const auto [judged, fresh] = known.try_emplace(run.judged.empty() ? run.plan_json : run.judged);
    if (fresh) {
      std::string text = run.judged;
      if (text.empty())
        if (const auto plan = planOf(run, database)) text = judgedText(*plan);
      auto value = plan::parseJson(text);
      auto read = value ? judgedFromJson(*value) : llvm::Expected<Judged>(value.takeError());
      if (read)
        judged->second = std::make_shared<const Judged>(std::move(*read));
      else
        llvm::consumeError(read.takeError());
    }
    looks.push_back({run.id, run.saidVerdicts(), run.endedAtLook(), judged->second});
  }
  if (auto error = statement.take()) return error;
  return looks;
}

/// What the points of a plan are started with, worked out for those that are asked of: a plan may have very many.
class Starts {
 public:
  /// The plan must outlive it.
  explicit Starts(const plan::Plan& plan) : plan_(plan) {
    for (const plan::Point& point : plan.points) points_.emplace(point.id, &point);
  }

  /// Null of a point that the plan does not have.
  const std::vector<std::string>* of(const std::string& point) {
    const auto found = points_.find(point);
    if (found == points_.end()) return nullptr;
    const auto [texts, fresh] = texts_.try_emplace(found->first);
    if (fresh) texts->second = startedWith(plan_, *found->second);
    return &texts->second;
  }

 private:
  const plan::Plan& plan_;
  std::unordered_map<std::string_view, const plan::Point*> points_;
  std::unordered_map<std::string_view, std::vector<std::string>> texts_;
};

/// What the runs that started the trials of a plan's points say: with what, and with which files and variables.
class Runs {
 public:
  Runs(Database& database, const plan::Plan& plan)
      : now_(plan),
        database_(database),
        run_(database.handle(), database.path(), fmt::format("SELECT {} FROM run WHERE id = ?1", kRunColumns).c_str()) {
  }

  /// Why a trial is none of what the plan starts at its point; "" also where its run left no plan that can be read, so
  /// that nothing more is known than its key.
  std::string objection(const Trial& trial) {
    Past* then = of(trial.run).past;
    const auto* was = then ? then->starts.of(trial.place().point) : nullptr;
    const auto* is = was ? now_.of(trial.place().point) : nullptr;
    if (!is || *was == *is) return "";
    const auto named = [](const std::vector<std::string>& texts) {
      std::map<std::string, std::string> names;
      for (const std::string& text : texts) names[text];
      return names;
    };
    const std::string how = changes(named(*was), named(*is), false);
    return "started otherwise: " + (how.empty() ? "in another order" : how);
  }
  /// Null of a run that is not known.
  const Match* match(int64_t run) {
    const auto& found = of(run).match;
    return found ? &*found : nullptr;
  }

 private:
  struct Past {
    explicit Past(plan::Plan of) : plan(std::move(of)), starts(plan) {}
    const plan::Plan plan;
    Starts starts;
  };
  struct Known {
    Past* past = nullptr;  // where its plan is read
    std::optional<Match> match;
  };
  const Known& of(int64_t number) {
    const auto [known, fresh] = runs_.try_emplace(number);
    if (!fresh || number == 0 || !run_.bind({number}).step()) return known->second;
    Run run = readRun(run_);
    const auto [past, unread] = plans_.try_emplace(run.plan_json);
    if (unread)
      if (auto plan = planOf(run, database_)) past->second = std::make_unique<Past>(std::move(*plan));
    return known->second = Known{past->second.get(), std::move(run.match)};
  }

  Starts now_;
  Database& database_;
  Statement run_;
  std::map<std::string, std::unique_ptr<Past>> plans_;  // by their hash; null of one that is not read any more
  std::map<int64_t, Known> runs_;
};

/// Reads what counts for one plan, a key at a time; without a match all that ended.
class Loader {
 public:
  using Keep = std::function<bool(const Trial&)>;

  /// Of what counts, with `keep` only the trials that it holds of.
  Loader(Database& database, const plan::Plan& plan, const Match* match, Keep keep = nullptr)
      : keep_(std::move(keep)),
        database_(database),
        all_(match == nullptr),
        counting_(plan, match ? *match : none_),
        runs_(database, plan),
        keys_(select(fmt::format("SELECT {} FROM trial_key WHERE point = ?1", kKeyColumns))),
        trials_(select(fmt::format(
            "SELECT {} FROM trial_row WHERE key = ?1 AND status NOT IN ('running', 'interrupted')", kTrialColumns))),
        values_(select(
            "SELECT trial, name, value FROM metric_value WHERE trial IN (SELECT id FROM trial_row WHERE key = ?1)")),
        series_(select(
            "SELECT trial, name, numbers FROM series WHERE trial IN (SELECT id FROM trial_row WHERE key = ?1)")) {
    for (const plan::Point& point : plan.points) readPoint(point.id);
  }

  llvm::Expected<std::vector<Trial>> trials() {
    for (Statement* statement : {&keys_, &trials_, &values_, &series_})
      if (auto error = statement->take()) return error;
    auto& trials = results_.trials;
    std::sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) { return a.id < b.id; });
    return std::move(trials);
  }

  llvm::Expected<Results> take() {
    auto found = trials();
    if (!found) return found.takeError();
    results_.trials = std::move(*found);
    if (auto error = readBlocks()) return error;
    leaveOutRepeatedSeeds();
    if (auto error = readSessions()) return error;
    auto looks = readLooks(database_);
    if (!looks) return looks.takeError();
    results_.looks = std::move(*looks);
    for (const auto& [why, count] : objections_)
      results_.not_counted_reasons.push_back(fmt::format("{} trial{}: {}", count, count == 1 ? "" : "s", why));
    return std::move(results_);
  }

 private:
  Statement select(const std::string& sql) { return Statement(database_.handle(), database_.path(), sql.c_str()); }

  void object(const std::string& why, uint64_t count = 1) {
    results_.kept_not_counted += count;
    objections_[why] += count;
  }

  void readPoint(const std::string& point) {
    keys_.bind({point});
    while (keys_.step()) readTrials(keys_.integer(0), std::make_shared<const TrialKey>(readKey(keys_)));
  }

  void readTrials(int64_t number, const Key& key) {
    const std::string why = all_ ? "" : counting_.objection(*key);
    std::unordered_map<int64_t, Trial> found;
    trials_.bind({number});
    while (trials_.step()) {
      Trial trial = readTrial(trials_);
      trial.key = key;
      found.emplace(trial.id, std::move(trial));
    }
    if (!why.empty()) {
      for (const auto& [id, trial] : found) object(counting_.objection(*key, runs_.match(trial.run)));
      return;
    }
    readValues(number, found);
    for (auto& [id, trial] : found) {
      if (keep_ && !keep_(trial)) continue;
      std::string lacking = runs_.objection(trial);
      if (lacking.empty() && !all_) lacking = counting_.objection(trial);
      if (lacking.empty())
        results_.trials.push_back(std::move(trial));
      else
        object(lacking);
    }
  }

  void readValues(int64_t number, std::unordered_map<int64_t, Trial>& trials) {
    values_.bind({number});
    while (values_.step()) {
      const auto trial = trials.find(values_.integer(0));
      if (trial == trials.end()) continue;
      if (values_.isNull(2))
        trial->second.not_on_device.push_back(values_.text(1));
      else
        trial->second.metrics[values_.text(1)] = values_.real(2);
    }
    series_.bind({number});
    while (series_.step()) {
      const auto trial = trials.find(series_.integer(0));
      if (trial != trials.end()) trial->second.series[series_.text(1)] = series_.reals(2);
    }
  }

  llvm::Error readBlocks() {
    std::set<int64_t> wanted;
    for (const Trial& trial : results_.trials) wanted.insert(trial.block);
    Statement block = select(fmt::format("SELECT {} FROM block WHERE id = ?1", kBlockColumns));
    for (const int64_t id : wanted)
      if (block.bind({id}).step()) blocks_[id] = readBlock(block).block;
    Statement sessions = select("SELECT id, nodes FROM session");
    while (sessions.step()) machines_[sessions.integer(0)] = sessions.text(1);
    return llvm::joinErrors(block.take(), sessions.take());
  }

  /// With the seed of a block the values of its trials come again: they count once, whatever the study was called.
  /// Times do not come again on another machine, but for those of the same moment, which are a copy.
  void leaveOutRepeatedSeeds() {
    std::map<std::tuple<plan::TrialKind, uint64_t, plan::Place, std::string>, int64_t> first;
    const auto firstOf = [&](const Trial& trial, const std::string& when) -> int64_t& {
      return first.try_emplace({trial.key->kind, blocks_[trial.block].seed, trial.place(), when}, trial.block)
          .first->second;
    };
    const auto blocksLike = [&](const Trial& trial) -> std::array<int64_t*, 2> {
      const bool timed = trial.key->kind == plan::TrialKind::Timed;
      return {&firstOf(trial, timed ? "on " + machines_[trial.session] : ""),
              &firstOf(trial, timed ? fmt::format("at {}", trial.started) : "")};
    };
    auto& trials = results_.trials;
    for (const Trial& trial : trials)
      for (int64_t* block : blocksLike(trial)) *block = std::min(*block, trial.block);
    const auto again = std::remove_if(trials.begin(), trials.end(), [&](const Trial& trial) {
      const auto blocks = blocksLike(trial);
      return std::any_of(blocks.begin(), blocks.end(), [&](const int64_t* block) { return *block != trial.block; });
    });
    if (again != trials.end()) object("another block of the same seed counts already", uint64_t(trials.end() - again));
    trials.erase(again, trials.end());
  }

  llvm::Error readSessions() {
    std::set<int64_t> blocks, sessions;
    for (const Trial& trial : results_.trials) {
      blocks.insert(trial.block);
      sessions.insert(trial.session);
    }
    for (const int64_t id : blocks) results_.blocks.push_back(blocks_[id]);
    Statement session = select(fmt::format("SELECT {} FROM session WHERE id = ?1", kSessionColumns));
    for (const int64_t id : sessions)
      if (session.bind({id}).step()) results_.sessions.push_back(readSession(session));
    return session.take();
  }

  const Keep keep_;
  Database& database_;
  const bool all_;
  const Match none_;
  Counting counting_;
  Runs runs_;
  Statement keys_, trials_, values_, series_;
  Results results_;
  std::map<std::string, uint64_t> objections_;
  std::map<int64_t, Block> blocks_;
  std::map<int64_t, std::string> machines_;  // of sessions
};

/// Whether a run measured what the part speaks of, but for where.
bool isOf(const Part& part, const Run& run) {
  const auto begins = [](const std::optional<std::string>& wanted, const std::string& text) {
    return !wanted || llvm::StringRef(text).starts_with(*wanted);
  };
  const auto workers = run.match.workers();
  const auto& digests = run.match.data_digests;
  return (!part.run || *part.run == run.id) && (!part.since || run.started.wall >= *part.since) &&
         (!part.before || run.started.wall < *part.before) &&
         (!part.build || std::any_of(workers.begin(), workers.end(),
                                     [&](const Worker& worker) { return begins(part.build, worker.build); })) &&
         (!part.program || std::any_of(digests.begin(), digests.end(),
                                       [&](const auto& digest) { return begins(part.program, digest.second); }));
}

/// Where a part was measured: sessions there, and the runs that have trials in them. A run names the session of one
/// lane only.
class Somewhere {
 public:
  static llvm::Expected<Somewhere> find(Store& store, const std::optional<std::string>& host) {
    Somewhere found;
    if (!host) return found;
    auto sessions = store.sessions();
    if (!sessions) return sessions.takeError();
    found.sessions_.emplace();
    for (const Session& session : *sessions)
      if (session.where.isOn(*host)) found.sessions_->insert(session.id);
    Database& database = store.database();
    Statement runs(database.handle(), database.path(), "SELECT DISTINCT run, session FROM trial_row");
    while (runs.step())
      if (found.has(runs.integer(1))) found.runs_.insert(runs.integer(0));
    if (auto error = runs.take()) return error;
    return found;
  }
  bool has(int64_t session) const { return !sessions_ || sessions_->count(session) != 0; }
  bool has(const Run& run) const { return has(run.session) || runs_.count(run.id) != 0; }

 private:
  std::optional<std::set<int64_t>> sessions_;  // absent: wherever
  std::set<int64_t> runs_;
};

}  // namespace

llvm::Expected<std::optional<PartResults>> loadPart(Store& store, const plan::Plan& plan, const Part& part) {
  Database& database = store.database();
  auto where = Somewhere::find(store, part.host);
  if (!where) return where.takeError();
  // What ran on null cards only where nothing else did, as in a report.
  Statement runs(database.handle(), database.path(),
                 fmt::format("SELECT {} FROM run WHERE study = ?1 ORDER BY null_cards, id DESC", kRunColumns).c_str());
  runs.bind({plan.study});
  std::optional<Run> newest;
  while (runs.step()) {
    Run run = readRun(runs);
    if (!isOf(part, run) || !where->has(run)) continue;
    if (!newest) newest = std::move(run);
  }
  if (auto error = runs.take()) return error;
  if (!newest) return std::nullopt;
  PartResults found{{}, planOf(*newest, database)};
  if (found.plan && found.plan->digest != plan.digest) found.plan.reset();
  auto results = Loader(database, plan, &newest->match, [&](const Trial& trial) {
                   return where->has(trial.session) && part.has(trial);
                 }).take();
  if (!results) return results.takeError();
  found.results = std::move(*results);
  return found;
}

llvm::Expected<std::optional<Session>> Store::latestSession(const SessionPlace& place) {
  if (auto error = catchUp()) return error;
  Statement statement(
      database_.handle(), database_.path(),
      fmt::format("SELECT {} FROM session WHERE nodes = ?1 AND lane = ?2 ORDER BY id DESC LIMIT 1", kSessionColumns)
          .c_str());
  statement.bind({textsToJson(place.nodes), place.lane});
  std::optional<Session> session;
  if (statement.step()) session = readSession(statement);
  if (auto error = statement.take()) return error;
  return session;
}

llvm::Expected<std::vector<Session>> Store::sessions() {
  if (auto error = catchUp()) return error;
  Statement statement(database_.handle(), database_.path(),
                      fmt::format("SELECT {} FROM session ORDER BY id", kSessionColumns).c_str());
  return readAll<Session>(statement, readSession);
}

llvm::Expected<std::optional<Run>> Store::latestRun(std::string_view study, bool null_cards) {
  if (auto error = catchUp()) return error;
  Statement statement(
      database_.handle(), database_.path(),
      fmt::format("SELECT {} FROM run WHERE study = ?1 AND null_cards = ?2 ORDER BY id DESC LIMIT 1", kRunColumns)
          .c_str());
  statement.bind({std::string(study), int64_t(null_cards)});
  std::optional<Run> run;
  if (statement.step()) run = readRun(statement);
  if (auto error = statement.take()) return error;
  return run;
}

llvm::Expected<std::vector<BlockPlan>> Store::blocksOfSession(int64_t session, std::string_view study) {
  if (auto error = catchUp()) return error;
  Statement statement(
      database_.handle(), database_.path(),
      fmt::format("SELECT {} FROM block WHERE session = ?1 AND study = ?2 ORDER BY id", kBlockColumns).c_str());
  statement.bind({session, std::string(study)});
  return readAll<BlockPlan>(statement, readBlock);
}

llvm::Expected<std::vector<Trial>> Store::trialsOfBlock(int64_t block) {
  if (auto error = catchUp()) return error;
  Statement statement(database_.handle(), database_.path(),
                      fmt::format("SELECT {} FROM trial_row WHERE block = ?1 ORDER BY id", kTrialColumns).c_str());
  statement.bind({block});
  return readAll<Trial>(statement, readTrial);
}

llvm::Expected<std::vector<Trial>> Store::unendedTrials() {
  if (auto error = catchUp()) return error;
  const auto select = [this](const std::string& sql) {
    return Statement(database_.handle(), database_.path(), sql.c_str());
  };
  Statement keys = select(fmt::format(
      "SELECT {} FROM trial_key WHERE id IN (SELECT key FROM trial_row WHERE status = 'running')", kKeyColumns));
  std::map<int64_t, Key> by_number;
  while (keys.step()) by_number[keys.integer(0)] = std::make_shared<const TrialKey>(readKey(keys));
  if (auto error = keys.take()) return error;
  Statement rows =
      select(fmt::format("SELECT {}, key FROM trial_row WHERE status = 'running' ORDER BY id", kTrialColumns));
  std::vector<Trial> trials;
  while (rows.step()) {
    Trial trial = readTrial(rows);
    trial.key = by_number[rows.integer(15)];
    if (trial.key) trials.push_back(std::move(trial));
  }
  if (auto error = rows.take()) return error;
  return trials;
}

llvm::Expected<Results> Store::loadLatest(const plan::Plan& plan, bool null_cards) {
  auto run = latestRun(plan.study, null_cards);
  if (!run) return run.takeError();
  return *run ? load(plan, (*run)->match) : Results{};
}

llvm::Expected<Results> Store::load(const plan::Plan& plan, const std::optional<Match>& given) {
  if (!given) {
    auto real = latestRun(plan.study, false);
    if (!real) return real.takeError();
    return *real ? load(plan, (*real)->match) : loadLatest(plan, true);
  }
  if (auto error = catchUp()) return error;
  return Loader(database_, plan, &*given).take();
}

llvm::Expected<std::vector<Trial>> Store::endedTrials(const plan::Plan& plan) {
  if (auto error = catchUp()) return error;
  return Loader(database_, plan, nullptr).trials();
}

}  // namespace expc::store
