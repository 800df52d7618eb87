#include "runtime/worker/workload/llm/rows.h"

#include <doctest/doctest.h>
#include <llvm/Support/FileSystem.h>

#include <algorithm>
#include <barrier>
#include <fstream>
#include <iterator>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

using namespace expc::workload::llm;
using expc::plan::Note;

namespace {

std::vector<int64_t> all(const Items& items) {
  std::vector<int64_t> numbers(size_t(items.count()));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

RowSets opened(const Parameters& parameters, bool hold_out, uint64_t seed, const Ranks& ranks) {
  auto rows = openRows(parameters, "/", /*vocabulary=*/1000, /*model_folder=*/"", seed, hold_out, ranks);
  if (!rows) throw std::runtime_error(llvm::toString(rows.takeError()));
  return std::move(*rows);
}

void make(Items& items, const std::vector<int64_t>& which) {
  if (auto error = items.make(which)) throw std::runtime_error(llvm::toString(std::move(error)));
}

/// All rows as one rank has them, with their tokens made.
RowSets open(const Parameters& parameters, bool hold_out, uint64_t seed = 7) {
  RowSets rows = opened(parameters, hold_out, seed, {});
  make(rows.train, all(rows.train));
  make(rows.held_out, all(rows.held_out));
  return rows;
}

/// Calls `work` once for each rank, with ranks that tell each other what they know.
void asRanks(int64_t count, const std::function<void(const Ranks&)>& work) {
  std::barrier meeting(static_cast<ptrdiff_t>(count));
  std::mutex lock;
  std::vector<double> largest;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      work({rank, count, [&](std::vector<double> own) {
              {
                const std::lock_guard guard(lock);
                largest.resize(own.size());
                for (size_t i = 0; i < own.size(); ++i) largest[i] = std::max(largest[i], own[i]);
              }
              meeting.arrive_and_wait();
              own = largest;
              meeting.arrive_and_wait();
              if (rank == 0) largest.clear();
              meeting.arrive_and_wait();
              return own;
            }});
    });
  for (std::thread& thread : threads) thread.join();
}

/// A file of rows, of which some are cut at 100 tokens and some have nothing left to learn.
class File {
 public:
  File() {
    REQUIRE(!llvm::sys::fs::createTemporaryFile("rows", "jsonl", path_));
    std::ofstream out(path_.str().str());
    for (int i = 0; i < 60; ++i)
      out << R"({"input": ")" << std::string(size_t(1 + i * 37 % 110), 'q') << R"(", "output": ")"
          << std::string(size_t(1 + i * 11 % 70), char('a' + i % 7)) << "\"}\n";
  }
  ~File() { llvm::sys::fs::remove(path_); }
  std::string path() const { return path_.str().str(); }

 private:
  llvm::SmallString<128> path_;
};

Parameters made(int64_t count, expc::text::Template kind = expc::text::Template::Grammar) {
  Parameters parameters;
  parameters.data.synthetic = count;
  parameters.kind = kind;
  return parameters;
}

double learntOf(const Items& items) {
  double sum = 0;
  for (int64_t i = 0; i < items.count(); ++i) sum += items.weight(i);
  return sum;
}

}  // namespace

TEST_CASE("a tenth of the rows is held out, at least one and at most 200") {
  CHECK(heldOutOf(2) == 1);
  CHECK(heldOutOf(500) == 50);
  CHECK(heldOutOf(50000) == kMostHeldOut);
  const RowSets all = open(made(40), false), sets = open(made(40), true), other = open(made(40), true, 8);
  CHECK(all.train.count() == 40);
  CHECK(all.held_out.count() == 0);
  CHECK(sets.train.count() == 36);
  CHECK(sets.held_out.count() == 4);
  CHECK(learntOf(sets.train) + learntOf(sets.held_out) == learntOf(all.train));
  // Which rows these are is the seed's choice; so are synthetic rows themselves.
  CHECK(learntOf(other.held_out) != learntOf(sets.held_out));
}

TEST_CASE("what a batch holds is what its items say") {
  for (const bool pairs : {false, true}) {
    Parameters parameters = made(6);
    parameters.method = pairs ? Method::Dpo : Method::Lora;
    const RowSets sets = open(parameters, false);
    CHECK((sets.train.kind() == (pairs ? Items::Kind::Pairs : Items::Kind::Rows)));
    const auto batch = sets.train.batch({1, 4, 2});
    CHECK(batch.rows == (pairs ? 6 : 3));
    if (pairs)
      CHECK(sets.train.weight({1, 4, 2}) == 3);
    else
      CHECK(double(batch.learnt) == sets.train.weight({1, 4, 2}));
    CHECK(double(batch.real) == sets.train.tokens(1) + sets.train.tokens(4) + sets.train.tokens(2));
  }
}

TEST_CASE("packs learn what their rows learn, and rows in them see themselves only") {
  Parameters parameters = made(30);
  const RowSets rows = open(parameters, false);
  parameters.packing = true;
  parameters.max_length = 256;
  const RowSets packs = open(parameters, false);
  CHECK((packs.train.kind() == Items::Kind::Packs));
  CHECK(packs.train.count() < 30);
  CHECK(learntOf(packs.train) == learntOf(rows.train));
  double tokens = 0, seen = 0, seen_in_rows = 0;
  for (int64_t i = 0; i < packs.train.count(); ++i) {
    tokens += packs.train.tokens(i);
    seen += packs.train.seen(i);
    CHECK(packs.train.batch({i}).columns == 256);
  }
  for (int64_t i = 0; i < rows.train.count(); ++i) seen_in_rows += rows.train.seen(i);
  CHECK(seen == seen_in_rows);
  CHECK(tokens < 256.0 * double(packs.train.count()));
}

TEST_CASE("rows of which nothing is left to learn are left out, or the reason why there is none") {
  Parameters parameters = made(30, expc::text::Template::Summarize);  // of about 167 tokens the last fifth is learnt
  parameters.max_length = 120;
  const RowSets sets = open(parameters, false);
  CHECK(sets.train.count() < 30);
  CHECK(sets.train.count() > 0);
  for (int64_t i = 0; i < sets.train.count(); ++i) CHECK(sets.train.weight(i) > 0);
  REQUIRE(sets.notes.size() == 2);
  CHECK(sets.notes[0].code == Note::Truncated);
  CHECK(sets.notes[1] == Note(Note::Unlearnt, "", double(30 - sets.train.count()), "", 30));
  parameters.max_length = 16;
  auto none = openRows(parameters, "/", 1000, "", 7, false, {});
  REQUIRE_FALSE(bool(none));
  CHECK(llvm::toString(none.takeError()).find("raise max_length") != std::string::npos);
}

TEST_CASE("rows held out that are also trained on are counted") {
  const auto note = [](int different) {
    llvm::SmallString<128> path;
    REQUIRE_FALSE(llvm::sys::fs::createTemporaryFile("twins", "jsonl", path));
    std::ofstream out(path.c_str());
    for (int i = 0; i < 40; ++i)
      out << R"({"input": "q)" << i % different << R"(", "output": "a)" << i % different << "\"}\n";
    out.close();
    Parameters parameters;
    parameters.kind = expc::text::Template::Grammar;
    parameters.data.path = path.str().str();
    const RowSets sets = open(parameters, true);
    llvm::sys::fs::remove(path);
    return sets.notes.back();
  };
  CHECK(note(4) == Note(Note::Leaked, "evaluation_loss", 4, "held-out row", 4));
  CHECK(note(40) == Note(Note::HeldOut, "", 4, "", 40));
}

namespace {

/// A file with a row on each line.
std::string written(const std::vector<std::string>& rows) {
  llvm::SmallString<128> path;
  REQUIRE_FALSE(llvm::sys::fs::createTemporaryFile("rows", "jsonl", path));
  std::ofstream out(path.c_str());
  for (const std::string& row : rows) out << row << "\n";
  return path.str().str();
}

std::string row(const std::string& input, const std::string& more = "") {
  return R"({"input": ")" + input + R"(", "output": "a")" + more + "}";
}

std::string refusal(const Parameters& parameters) {
  auto rows = openRows(parameters, "/", 1000, "", 7, /*hold_out=*/true, {});
  return rows ? "" : llvm::toString(rows.takeError());
}

}  // namespace

TEST_CASE("rows of another file are evaluated, all of them, and all rows of the data are trained on") {
  Parameters parameters = made(0);
  parameters.data.path = written({row("one"), row("two"), row("three")});
  parameters.validation.path = written({row("four"), row("one"), row(" ONE "), row("five")});
  const RowSets sets = open(parameters, true);
  CHECK(sets.train.count() == 3);
  CHECK(sets.held_out.count() == 4);
  const auto has = [&](const Note& note) { return std::ranges::find(sets.notes, note) != sets.notes.end(); };
  CHECK(has("4 rows of " + parameters.validation.path + " are evaluated"));
  CHECK(has({Note::Leaked, "evaluation_loss", 1, "held-out row", 4}));
  CHECK(has({Note::NearlyLeaked, "", 1, "held-out row", 4}));
  // Timed trials evaluate nothing.
  CHECK(open(parameters, false).held_out.count() == 0);
  parameters.validation.path = "/no/such/file.jsonl";
  CHECK(refusal(parameters).starts_with("validation: /no/such/file.jsonl"));
}

TEST_CASE("a column says which rows are evaluated and which are left out, in every kind of trial") {
  Parameters parameters = made(0);
  const auto part = [](const std::string& name) { return row("q", R"(, "split": )" + name); };
  parameters.data.path = written(
      {part(R"("train")"), part(R"("validation")"), part(R"("Test")"), part("true"), part("false"), part(R"("dev")")});
  parameters.validation.column = "split";
  CHECK(open(parameters, true).train.count() == 2);
  CHECK(open(parameters, true).held_out.count() == 3);
  CHECK(open(parameters, false).train.count() == 2);
  CHECK(open(parameters, false).held_out.count() == 0);
  parameters.data.path = written({part(R"("train")"), part(R"("mine")")});
  CHECK(refusal(parameters).find("row 2: 'split' is \"mine\", expected train, validation or test") !=
        std::string::npos);
  parameters.data.path = written({part(R"("train")")});
  CHECK(refusal(parameters).find("leaves no row to evaluate") != std::string::npos);
  parameters.data.path = written({part(R"("test")")});
  CHECK(refusal(parameters).find("says test for all 1 rows") != std::string::npos);
  parameters.data.path = written({row("no part")});
  CHECK(refusal(parameters).starts_with("validation: "));
  CHECK(refusal(parameters).find("unknown column 'split'") != std::string::npos);
  parameters.data.path = written({R"({"split": "train"})"});
  CHECK(refusal(parameters).starts_with("data: "));
}

TEST_CASE("pairs whose answers do not differ are left out and counted, by every rank alike") {
  const auto written = [](const std::function<std::string(int)>& rejected) {
    llvm::SmallString<128> path;
    REQUIRE_FALSE(llvm::sys::fs::createTemporaryFile("pairs", "jsonl", path));
    std::ofstream out(path.c_str());
    for (int i = 0; i < 24; ++i)
      out << R"({"prompt": "q)" << i << R"(", "chosen": "same", "rejected": ")" << rejected(i) << "\"}\n";
    return path.str().str();
  };
  Parameters parameters;
  parameters.kind = expc::text::Template::Plain;
  parameters.method = Method::Dpo;
  parameters.data.path = written([](int i) { return i % 3 == 0 ? "other" : i % 3 == 1 ? "same" : " same\\n"; });
  for (const int64_t count : {1, 2, 3})
    asRanks(count, [&](const Ranks& ranks) {
      const RowSets sets = opened(parameters, false, 7, ranks);
      CHECK(sets.train.count() == 8);
      CHECK(std::ranges::count(sets.notes, Note(Note::EqualPairs, "", 16, "", 24)) == 1);
    });
  llvm::sys::fs::remove(parameters.data.path);
  parameters.data.path = written([](int) { return "same"; });
  auto none = openRows(parameters, "/", 1000, "", 7, false, {});
  REQUIRE_FALSE(bool(none));
  CHECK(llvm::toString(none.takeError()).find("there is nothing to prefer") != std::string::npos);
  llvm::sys::fs::remove(parameters.data.path);
}

TEST_CASE("weights of rows are those of their tokens, or of the rows where losses are taken by rows") {
  Parameters parameters = made(0);
  parameters.data.path = written({row("one"), row("two", R"(, "weight": 0.5)"), row("six", R"(, "weight": 4)")});
  const RowSets tokens = open(parameters, false);
  const double plain = tokens.train.weight(0);
  CHECK(plain > 1);
  CHECK(tokens.train.weight(1) == 0.5 * plain);
  CHECK(tokens.train.weight(2) == 4 * plain);
  CHECK(tokens.train.batch({0}).weights.empty());
  const auto batch = tokens.train.batch({0, 1});
  CHECK(batch.row_weights.empty());
  CHECK(batch.weights.size() == batch.labels.size());
  CHECK(batch.weights.front() == 1);
  CHECK(std::count(batch.weights.begin(), batch.weights.end(), 0.5) >= int64_t(plain));
  parameters.packing = true;
  parameters.max_length = 256;
  const RowSets packs = open(parameters, false);
  REQUIRE(packs.train.count() == 1);
  CHECK(packs.train.weight(0) == 5.5 * plain);
  CHECK(packs.train.batch({0}).weights.size() == 256);
  parameters.packing = false;
  parameters.per_row = true;
  const RowSets rows = open(parameters, false);
  CHECK(rows.train.weight({0, 1, 2}) == 5.5);
  CHECK(rows.train.batch({2, 1}).row_weights == std::vector<double>{4, 0.5});
  CHECK(rows.train.batch({0}).row_weights.empty());
  parameters.method = Method::Dpo;
  llvm::sys::fs::remove(parameters.data.path);
  const auto pair = [](const std::string& more) { return row("q", R"(, "chosen": "a", "rejected": "b")" + more); };
  parameters.data.path = written({pair(""), pair(R"(, "loss_weight": 3)")});
  const RowSets pairs = open(parameters, false);
  CHECK(pairs.train.batch({1, 0}).row_weights == std::vector<double>{3, 1});
  CHECK(pairs.train.batch({1, 0}).weights.empty());
  llvm::sys::fs::remove(parameters.data.path);
}

TEST_CASE("ranks have the rows of one, whoever made which") {
  const File file;
  Parameters rows;
  rows.data.path = file.path();
  rows.kind = expc::text::Template::Grammar;
  rows.max_length = 100;
  Parameters packs = rows, pairs = rows, synthetic = made(40);
  packs.packing = true;
  pairs.method = Method::Dpo;
  synthetic.max_length = 64;
  for (const Parameters& parameters : {rows, packs, pairs, synthetic}) {
    const RowSets alone = open(parameters, true);
    REQUIRE(alone.train.count() > 6);
    for (const int64_t count : {2, 3}) {
      std::mutex lock;
      asRanks(count, [&](const Ranks& ranks) {
        RowSets own = opened(parameters, true, 7, ranks);
        std::vector<int64_t> taken;
        for (int64_t item = ranks.rank; item < own.train.count(); item += ranks.count) taken.push_back(item);
        make(own.train, taken);
        own.train.tell(ranks);
        const auto batch = own.train.batch(taken), expected = alone.train.batch(taken);
        const std::lock_guard guard(lock);
        CHECK((own.notes == alone.notes));
        CHECK(own.train.count() == alone.train.count());
        CHECK(own.held_out.count() == alone.held_out.count());
        CHECK(batch.tokens == expected.tokens);
        CHECK(batch.labels == expected.labels);
        CHECK(batch.lengths == expected.lengths);
        for (const int64_t item : all(own.train)) CHECK(own.train.weight(item) == alone.train.weight(item));
        for (const int64_t item : taken) CHECK(own.train.seen(item) == alone.train.seen(item));
      });
    }
  }
}
