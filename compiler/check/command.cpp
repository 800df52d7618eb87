// A workload that is a program of the user's.

#include <algorithm>

#include "compiler/check/checker.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(BadCommand, Error, "{0}", std::string);
EXPC_DIAGNOSTIC(UnusedParameter, Warning, "the command is not told '{0}'", std::string_view);

/// What the runtime fills in beside parameters (docs/language.md).
const std::vector<std::string> kProvided = {"seed", "trial", "steps", "warmup", "epochs", "trial_folder"};

std::vector<std::string> placeholders(const Workload& workload) {
  std::vector<std::string> names;
  for (const Parameter& parameter : workload.parameters) names.push_back(parameter.name);
  names.insert(names.end(), kProvided.begin(), kProvided.end());
  return names;
}

/// Checks the `${…}` of one argument and marks the parameters that it passes on.
void checkTemplate(Context& context, const ast::Text& text, const Workload& workload, std::vector<bool>& passed) {
  const std::string& value = text.value;
  for (size_t at = value.find('$'); at != std::string::npos; at = value.find('$', at)) {
    if (value.compare(at, 2, "$$") == 0) {
      at += 2;
      continue;
    }
    size_t end = value.compare(at, 2, "${") == 0 ? value.find('}', at) : std::string::npos;
    if (end == std::string::npos) {
      context.emitter.build(text.range, BadCommand, "a '$' begins the name of a parameter")
          .note({}, "write '${{gpus}}', or '$$' for a dollar sign")
          .emit();
      return;
    }
    std::string name = value.substr(at + 2, end - at - 2);
    std::vector<std::string> known = placeholders(workload);
    if (std::find(known.begin(), known.end(), name) == known.end())
      diag::unknownName(context.emitter, text.range, "parameter", "${" + name + "}", [&] {
        std::vector<std::string> written;
        for (const std::string& one : known) written.push_back("${" + one + "}");
        return written;
      }());
    if (int index = workload.findParameter(name); index >= 0) passed[static_cast<size_t>(index)] = true;
    at = end;
  }
}

}  // namespace

Command checkCommand(Context& context, const ast::WorkloadDecl& declaration, const Workload& workload,
                     ModuleScope& scope) {
  Command command;
  std::vector<bool> passed(workload.parameters.size(), false);
  for (const ast::Text& argument : declaration.command->arguments) {
    checkTemplate(context, argument, workload, passed);
    command.arguments.push_back(argument.value);
  }
  if (command.arguments.empty() || command.arguments[0].empty())
    context.emitter.emit(declaration.command->range, BadCommand, "a command needs a program to run");
  for (size_t i = 0; i < passed.size(); ++i) {
    const std::string& name = workload.parameters[i].name;
    // `gpus` is how many slots a trial gets, whether or not the program is told.
    if (passed[i] || name == "gpus") continue;
    context.emitter.build(workload.parameters[i].range, UnusedParameter, name)
        .note(declaration.command->range, "no argument holds '${{{}}}', so its value changes nothing", name)
        .emit();
  }
  if (declaration.command->timeout) {
    const ast::Expr& expr = *declaration.command->timeout;
    auto value =
        context.expressions.constant(expr, {&scope}, Type::number(Dimension::of(Dimension::Time)), "'timeout'");
    if (value && value->asNumber()->sign() <= 0)
      context.emitter.emit(expr.range, errors::OutOfRange, "'timeout'", value->toString(), "what is above 0s");
    else if (value)
      command.timeout = *value->asNumber();
  }
  for (const ast::Text& input : declaration.inputs) {
    if (input.value.empty()) context.emitter.emit(input.range, BadCommand, "an input needs a path");
    command.inputs.push_back(load::relativeTo(scope.file->directory, input.value));
  }
  return command;
}

}  // namespace expc::check
