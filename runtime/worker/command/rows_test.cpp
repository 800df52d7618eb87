#include "runtime/worker/command/rows.h"

#include <doctest/doctest.h>

#include <string>

#include "runtime/base/format.h"
#include "runtime/plan/command.h"

using namespace expc::command;
using expc::plan::Command;
using expc::plan::CommandMetric;
using From = CommandMetric::From;

namespace {

CommandMetric column(const std::string& name, From from, const std::string& where) {
  CommandMetric made;
  made.name = name;
  made.from = from;
  made.file = "out";
  made.where = where;
  made.row = true;
  return made;
}

/// The values by key as text, such as "8=1.5 16=none"; or the error.
std::string read(const Command& command, const CommandMetric& metric, llvm::StringRef text) {
  auto reader = RowReader::make(command);
  if (!reader) return llvm::toString(reader.takeError());
  if (auto error = reader->prepare(metric)) return llvm::toString(std::move(error));
  auto keys = reader->keys(text);
  if (!keys) return llvm::toString(keys.takeError());
  auto values = reader->read(metric, text, *keys);
  if (!values) return llvm::toString(values.takeError());
  std::string all;
  for (const auto& [key, value] : *values)
    all += fmt::format("{}{}={}", all.empty() ? "" : " ", key, value.value ? fmt::format("{}", *value.value) : "none");
  return all;
}

}  // namespace

TEST_CASE("rows of a table have the keys that they name, and an empty cell has no value") {
  Command command;
  command.inside = {column("n", From::Csv, "n")};
  CHECK(read(command, column("t", From::Csv, "t"), "n,t\n8,1.5\n16,\n,3\n32,nan\n") == "16=none 32=nan 8=1.5");
  CHECK(read(command, column("t", From::Csv, "t"), "n,t\n8,x\n") == "row 1: 'x' is not a number");
  CHECK(read(command, column("t", From::Csv, "t"), "n,t\n,1\n") == "no row says its n");
  CHECK(read(command, column("t", From::Csv, "t"), "n,t\n8,1\n8,2\n") ==
        "rows 1 and 2 are both of n = 8; say which number is meant, as in `from median(…)`");
}

TEST_CASE("keys agree where they are written in another unit, or as another number") {
  Command command;
  command.inside = {column("t", From::Csv, "t")};
  command.inside[0].scale = 1e-3;
  expc::plan::CommandMetric value = column("v", From::Csv, "v");
  CHECK(read(command, value, "t,v\n0.3,1\n250.0,2\n") == "0.0003=1 0.25=2");
  CHECK(expc::plan::rowKey(command, llvm::json::Object{{"t", 0.25}}) == "0.25");
  CHECK(expc::plan::rowKey(command, llvm::json::Object{{"t", 0.3 * 1e-3}}) == "0.0003");
}

TEST_CASE("several values of a key are one number, a count or a series where that is asked") {
  Command command;
  command.inside = {column("n", From::Csv, "n")};
  CommandMetric median = column("t", From::Csv, "t");
  median.take = expc::plan::Reduction::Take::Median;
  CHECK(read(command, median, "n,t\n1,1\n2,8\n1,3\n") == "1=2 2=8");
  median.take = expc::plan::Reduction::Take::Count;
  CHECK(read(command, median, "n,t\n1,1\n2,8\n1,3\n") == "1=2 2=1");
}

TEST_CASE("matches of a pattern, elements and lines of JSON are rows") {
  Command command;
  command.inside = {column("size", From::Regex, "^(?<size>[0-9]+) (?<t>[0-9.]+)$")};
  command.inside[0].group = "size";
  CommandMetric t = column("t", From::Regex, command.inside[0].where);
  t.group = "t";
  CHECK(read(command, t, "# x\n8 1.5\n16 2\n") == "16=2 8=1.5");
  command.inside = {column("n", From::Json, "/runs/*/p/n"), column("op", From::Json, "/runs/*/p/op")};
  command.inside[1].text = true;
  CommandMetric time = column("t", From::Json, "/runs/*/t");
  time.units = "/runs/*/unit";
  CHECK(
      read(
          command, time,
          R"({"runs":[{"p":{"n":1,"op":"add"},"t":5,"unit":"ms"},{"p":{"n":1,"op":"mul"},"t":7,"unit":"us"},{"t":1}]})") ==
      R"(["1","add"]=0.005 ["1","mul"]=7e-06)");
  command.inside = {column("n", From::Json, "/n")};
  CHECK(read(command, column("t", From::Json, "/t"), "{\"n\":1,\"t\":2}\n{\"n\":2,\"t\":3}\n") == "1=2 2=3");
}

TEST_CASE("a part of a text and a unit behind a number are read") {
  Command command;
  command.inside = {column("bs", From::Json, "/jobs/*/o/bs")};
  command.inside[0].units = ".";
  CHECK(read(command, column("t", From::Json, "/jobs/*/t"),
             R"({"jobs":[{"o":{"bs":"4k"},"t":1},{"o":{"bs":"512B"},"t":2}]})") == "4096=1 512=2");
  command.inside = {column("arg", From::Json, "/b/*/name")};
  command.inside[0].part = "^[^/]*/(?<part>[0-9]+)";
  CHECK(read(command, column("t", From::Json, "/b/*/t"), R"({"b":[{"name":"BM/8/x","t":1},{"name":"BM","t":2}]})") ==
        "8=1");
}
