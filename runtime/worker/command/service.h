#pragma once

// Attends to a service, a program that runs until it is told to end: finds out when it is ready, and ends it.

#include <functional>
#include <optional>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/llvm.h"
#include "runtime/base/process.h"
#include "runtime/plan/plan.h"
#include "runtime/worker/command/process.h"
#include "runtime/worker/command/readers.h"

namespace expc::command {

/// Whether a TCP port of this machine is free; false too for a text that is no port.
bool isFree(const std::string& port);

/// Whether a service answers at `host`:`port`: accepts a connection, and with a `path` answers a request of it with a
/// code from 200 to 399. Waits a second at most. The error says what was seen.
Error answers(const std::string& host, const std::string& port, const std::string& path);

/// Measures what a service takes from now on: the service with this process, and all that it started.
class ServiceUse {
 public:
  explicit ServiceUse(pid_t program);
  /// Processor time in seconds; in steps of the kernel's clock (10 ms) if processes began or ended meanwhile. Absent,
  /// as below: the kernel does not tell.
  std::optional<double> cpuSeconds() const;
  /// The largest resident set of one of its processes.
  std::optional<double> peakBytes() const;

 private:
  pid_t program_;
  base::Family before_;
  double exact_before_ = 0;
};

/// The attendant of one service.
class ServiceAttendant : public Attendant {
 public:
  /// Refers to `program` and `ready`, which must outlive it. `onReady` is called once, with the seconds since `make`
  /// and the program's process. Error: the pattern of `ready` cannot be compiled.
  static Expected<ServiceAttendant> make(const Program& program, const plan::Ready& ready, std::string host,
                                         std::string port, std::function<void(double, pid_t)> onReady);

  double look(pid_t program) override;
  void told(pid_t program) override;

  /// Whether it was told to end; its end is no failure then.
  bool wasTold() const { return told_at_.has_value(); }
  /// Why it was ended before it was ready; "" if it was not.
  const std::string& late() const { return late_; }

 private:
  ServiceAttendant(const Program& program, const plan::Ready& ready) : program_(&program), asked_(&ready) {}
  Error isReady() const;

  const Program* program_;
  const plan::Ready* asked_;
  std::string host_, port_;
  std::function<void(double, pid_t)> on_ready_;
  std::optional<Pattern> pattern_;
  bool ready_ = false;
  std::string late_;
  base::Clock::time_point began_ = base::Clock::now();
  std::optional<base::Clock::time_point> told_at_;
};

}  // namespace expc::command
