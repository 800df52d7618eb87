#pragma once

// Attends to a program that is not a service: ends it when it is told to, and asks its Python processes where they are
// before. PYTHONFAULTHANDLER is set for them, so that SIGABRT makes them write the stacks of their threads.

#include <limits>
#include <string>

#include "runtime/worker/command/process.h"

namespace expc::command {

/// The attendant of one program.
class StackAttendant : public Attendant {
 public:
  /// The program is killed after `seconds`, and its end is then no failure.
  explicit StackAttendant(double seconds = std::numeric_limits<double>::infinity()) : seconds_(seconds) {}

  double look(pid_t program) override;
  void told(pid_t program) override;

  /// Whether it was told to end.
  bool wasTold() const { return told_; }
  /// Whether its time was over.
  bool wasCut() const { return cut_; }
  /// Where its Python processes were then: "train.py:31 in main, waiting in all_reduce", by rank if there are several;
  /// "" if there are none.
  const std::string& places() const { return places_; }

 private:
  const double seconds_;
  double began_ = -1;
  bool told_ = false, cut_ = false;
  std::string places_;
};

/// The place of the main thread in what Python's faulthandler wrote: the innermost line outside of libraries, and the
/// function in which it waits. "" if there is none.
std::string placeIn(const std::string& dump);

}  // namespace expc::command
