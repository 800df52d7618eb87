#pragma once

#include <optional>
#include <string>

#include "compiler/driver/console.h"
#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/store/part.h"

namespace expc::driver {

/// A results folder, or a part of it, as a command line names it: DIR or DIR,NAME=VALUE,….
class Side {
 public:
  /// Opens it for reading. Nothing after saying why not; `code` is then the exit code.
  static std::optional<Side> open(const std::string& text, const Console& console, int& code);

  const std::string& name() const { return name_; }
  /// What it has of a study, judged by the plan of that machine, or, after saying so, by `plan`. Nothing, after saying
  /// why, where no trial counts.
  struct Found {
    store::Results results;
    analysis::Judgement judgement;
  };
  std::optional<Found> of(const plan::Plan& plan, const Console& console);

 private:
  Side(std::string name, store::Store store, store::Part part)
      : name_(std::move(name)), store_(std::move(store)), part_(std::move(part)) {}

  std::string name_;
  store::Store store_;
  store::Part part_;
};

}  // namespace expc::driver
