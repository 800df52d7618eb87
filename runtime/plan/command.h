#pragma once

// A command's arguments for one trial. Both ends need them: the engine looks for the program before the first trial,
// the worker starts it.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace expc::plan {

/// What standard output and standard error are called among the files of a trial, whatever its program names so.
inline constexpr char kOutput[] = "stdout.txt";
inline constexpr char kErrors[] = "stderr.txt";

/// The metric of a command that is the energy of its devices; its worker gives no value, which the engine puts in.
inline constexpr char kEnergy[] = "energy";

/// Where the outputs of what runs in `folder` are caught, and our log: hidden beside it, since the
/// folder is the program's.
std::string outputsOf(const std::string& folder);
/// The file for one of them, of the process of a rank: "stdout.txt", "stdout.3.txt".
std::string outputOf(const std::string& folder, const std::string& output, unsigned rank = 0);

/// A parameter as an argument: booleans `true` and `false`, numbers as plain decimals without an exponent, text as it
/// is, lists of these joined by commas, anything else as canonical JSON.
std::string argumentText(const llvm::json::Value& value);

/// The names in `${…}` of `text`, and whether it is well formed; `$$` is a dollar sign. The error names the place.
llvm::Expected<std::set<std::string>> namesIn(const std::string& text);

/// `arguments` with `${name}` replaced by the text of that name. An argument with a name that `values` lacks (an
/// inactive parameter) is left out, and with it an option that stands alone before it: "--rank", "${rank}".
llvm::Expected<std::vector<std::string>> expandArguments(const std::vector<std::string>& arguments,
                                                         const std::map<std::string, std::string>& values);

/// What to start for a program's name: a name with a slash is a path from `root`, any other is for PATH.
std::string programPath(const std::string& name, const std::string& root);

}  // namespace expc::plan
