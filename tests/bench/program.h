#pragma once

// What the programs of this folder share: their options, and steps that take turns with other programs (turns.py).

#include <fmt/ranges.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/format.h"

namespace expc::bench {

/// Options of a program: `--name value` on its command line replaces a default.
class Options {
 public:
  explicit Options(std::map<std::string, std::string> defaults) : values_(std::move(defaults)) {}

  /// Reads arguments from `first` on. False, with a line on standard error, if one is none of the options.
  bool read(int argc, char** argv, int first = 1) {
    for (int i = first; i < argc; i += 2) {
      const std::string name = argv[i];
      if (!name.starts_with("--") || !values_.contains(name.substr(2)) || i + 1 == argc) {
        fmt::print(stderr, "{}: '{}' is no option with a value; there are --{}\n", argv[0], name,
                   fmt::join(names(), ", --"));
        return false;
      }
      values_[name.substr(2)] = argv[i + 1];
    }
    return true;
  }

  const std::string& operator[](const char* name) const { return values_.at(name); }
  /// Throws std::invalid_argument where the value is no number.
  int64_t number(const char* name) const { return std::stoll(values_.at(name)); }

 private:
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& [name, value] : values_) result.push_back(name);
    return result;
  }

  std::map<std::string, std::string> values_;
};

/// Answers each line of standard input, a number of steps, with a JSON array of [seconds, seconds of processor time].
template <typename Step>
void serve(const Step& step) {
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::string> seconds;
    for (int i = std::stoi(line); i > 0; --i) {
      const auto start = std::chrono::steady_clock::now();
      const std::clock_t used = std::clock();
      step();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      seconds.push_back(fmt::format("[{}, {}]", took.count(), double(std::clock() - used) / CLOCKS_PER_SEC));
    }
    fmt::print("[{}]\n", fmt::join(seconds, ", "));
    std::fflush(stdout);
  }
}

}  // namespace expc::bench
