#pragma once

// For the tests of several layers: a study from text, with files that live in a map.

#include <algorithm>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "compiler/check/check.h"
#include "runtime/base/llvm.h"

namespace expc::check {

/// Checks `text` as "study.exp"; `files` are what it may import, `overrides` texts of `-D`. Collects what is reported.
struct Fixture {
  explicit Fixture(const std::string& text, std::map<std::string, std::string> files = {},
                   std::vector<std::string> overrides = {})
      : emitter(collector) {
    load::FileSystem system{[files](const std::string& path) -> Expected<std::string> {
      auto found = files.find(path);
      if (found == files.end())
        return llvm::errorCodeToError(std::make_error_code(std::errc::no_such_file_or_directory));
      if (found->second == "unreadable")
        return llvm::errorCodeToError(std::make_error_code(std::errc::permission_denied));
      return found->second;
    }};
    source::FileId root = sources.add("dir/study.exp", text);
    program = check(sources, load::load(sources, root, system, emitter), emitter, {}, std::move(overrides));
  }

  /// "unknown-name", … in order.
  std::vector<std::string> slugs() const {
    std::vector<std::string> result;
    for (const diag::Diagnostic& diagnostic : collector.diagnostics) result.emplace_back(diag::slug(diagnostic.kind));
    return result;
  }
  bool reported(std::string_view slug) const {
    auto all = slugs();
    return std::find(all.begin(), all.end(), slug) != all.end();
  }
  /// All messages, for failing checks.
  std::string text() const {
    std::string result;
    for (const diag::Diagnostic& diagnostic : collector.diagnostics) {
      result += diagnostic.message;
      for (const diag::Note& note : diagnostic.notes) result += " | " + note.message;
      result += "\n";
    }
    return result;
  }

  source::SourceManager sources;
  diag::Collector collector;
  diag::Emitter emitter;
  Program program;
};

/// A small workload and the head of a study over it; tests add the rest and a closing brace.
inline const char* const kJob = R"(
enum method { none, lora, qlora }
enum source { real(path), fake(count : int) }
ordered enum size_class { small, medium, large }
workload job {
  version 3
  param data : source = fake(10)
  param batch : int in 1..1024 = 32
  param gpus : int in 1..64 = 1
  param method : method = none
  param rank : int in 1..256 = 8 when method in { lora, qlora }
  param size : Pixels in 1px..4096px = 224px
  param rate : float in 0.0..10.0 = 0.5
  param class : size_class = small
  metric step_time : Time lower timed
  metric speed : Images / Time higher timed
  metric memory : Bytes lower timed exact
  metric accuracy : Share higher quality
  metric balance : float in -1.0..1.0 higher timed
}
)";
inline const char* const kDesign = " design { timed { repeat 10 steps 5 } quality { repeat 2 epochs 1 } seed 3 } ";

/// kJob and a study `s` with `body` and a design.
inline std::string jobStudy(const std::string& body) {
  return std::string(kJob) + "study s { workload job() " + body + kDesign + "}\n";
}

}  // namespace expc::check
