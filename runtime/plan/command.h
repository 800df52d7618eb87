#pragma once

// A command's arguments for one trial. Both ends need them: the engine looks for the program before the first
// trial, and the worker starts it.

#include <llvm/Support/JSON.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"

namespace expc::plan {

/// The names of standard output and standard error among the files of a trial; they are reserved.
inline constexpr char kOutput[] = "stdout.txt";
inline constexpr char kErrors[] = "stderr.txt";

/// The metric of a command that is the energy of its devices. The worker gives no value; the engine measures it.
inline constexpr char kEnergy[] = "energy";
/// Metrics that the engine samples once a second: memory of the processes of a trial on the host, and on its fullest
/// device (bytes), and the share of the time in which its devices ran something. A number is the largest sample, of the
/// share the mean; a series has all.
inline constexpr char kHostMemory[] = "host_memory_sampled", kDeviceMemory[] = "device_memory_sampled",
                      kDeviceBusy[] = "device_busy_sampled";

/// A metric that the runtime measures for any program that it starts.
struct Outside {
  const char* name;
  const char* type;
  bool sampled;  // by the engine; it may be a series
};
inline constexpr Outside kSeenFromOutside[] = {{"wall", "Time", false},      {"cpu_time", "Time", false},
                                               {kEnergy, "Energy", false},   {"host_memory_peak", "Bytes", false},
                                               {kHostMemory, "Bytes", true}, {kDeviceMemory, "Bytes", true},
                                               {kDeviceBusy, "Share", true}};
/// The metric of that name, or null.
const Outside* seenFromOutside(StringRef name);
/// "'wall' (Time), 'cpu_time' (Time), …": all of them.
std::string seenFromOutsideText();

/// The folder with the outputs of a command that runs in `folder`, and our log. It lies hidden beside `folder`,
/// which belongs to the program.
std::string outputsOf(const std::string& folder);
/// The file of one output of a rank's process: "stdout.txt", "stdout.3.txt".
std::string outputOf(const std::string& folder, const std::string& output, unsigned rank = 0);

/// A parameter as an argument: booleans as `true` and `false`, numbers as plain decimals without an exponent, text
/// as it is, lists of these joined by commas, anything else as canonical JSON.
std::string argumentText(const json::Value& value);

/// Behind the name of a parameter that is a list, in `${…}`: its first and its last value.
inline constexpr char kFirst[] = ".first", kLast[] = ".last";
/// Adds the texts of `${name}`, and of a list those of its ends.
void addArgument(std::map<std::string, std::string>& values, StringRef name, const json::Value& value);

/// The key by which values of a row are stored: the levels of the command's inside parameters, in their order. Numbers
/// agree in 15 digits, since programs print them in other units.
std::string rowKey(const Command& command, const json::Object& parameters);
/// The key of a row with these parts.
std::string rowKey(const std::vector<std::string>& parts);
/// How a value is read, as plans have it.
json::Object toJson(const CommandMetric& read);
/// The part of a JSON pointer that leads to the rows of a table: up to its last `*` or `name=VALUE`. "": each document
/// is a row.
std::string_view rowsIn(std::string_view pointer);
/// The part of a key that is a number, as it was read.
std::string rowPart(const CommandMetric& key, double number);

/// The names in `${…}` of `text`; `$$` is a dollar sign. An error, which shows the text, if it is not well formed.
Expected<std::set<std::string>> namesIn(const std::string& text);

/// Replaces `${name}` in `arguments` by the text of that name. An argument that names something without a value (an
/// inactive parameter) is left out, together with an option that stands alone before it: "--rank", "${rank}".
/// Errors: an argument that is not well formed, or has a null character.
Expected<std::vector<std::string>> expandArguments(const std::vector<std::string>& arguments,
                                                   const std::map<std::string, std::string>& values);

/// The values that tell instances of a service apart, as text: two points with the same text can share one.
std::string instanceOf(const Service& service, const Point& point);
/// instanceOf() for all services of a point's workload; "" if it has none.
std::string instancesOf(const Plan& plan, const Point& point);

/// The names in `${name}` of what a metric is read from, a pattern or a file. Nothing else is special there; `\${` is
/// none.
std::vector<std::string> parametersIn(std::string_view text);
/// A command whose metrics and expectations are read as they are at a point: with the values of its parameters in the
/// place of `${name}`. In a pattern a value matches itself.
Command readAt(Command command, const json::Object& parameters);

/// The program to start for a name: a name with a slash is a path from `root`, any other is looked up in PATH.
std::string programPath(const std::string& name, const std::string& root);

}  // namespace expc::plan
