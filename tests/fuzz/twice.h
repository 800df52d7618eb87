#pragma once

#include <llvm/Support/JSON.h>

#include <string>
#include <utility>

#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "tests/fuzz/hold.h"

namespace expc::fuzz {

/// Reads a value; what it makes of it is written, read and written again, and stays the same.
template <typename Read>
void readTwice(const json::Value& value, Read read) {
  auto first = read(value);
  if (!worked(first)) return;
  const std::string written = base::canonicalJson(toJson(*first));
  auto parsed = base::parseJson(written);
  hold(worked(parsed), "what is written is JSON");
  auto again = read(*parsed);
  hold(worked(again), "what is written is read");
  hold(base::canonicalJson(toJson(*again)) == written, "and is the same");
}

/// A record that describe() has the fields of.
template <typename Record>
struct Described {
  Record record;
};

template <typename Record>
json::Object toJson(const Described<Record>& described) {
  return base::written(described.record);
}

template <typename Record>
Expected<Described<Record>> readRecord(const json::Value& value) {
  auto record = TRY(base::readRecord<Record>(value, "a record"));
  return Described<Record>{std::move(record)};
}

}  // namespace expc::fuzz
