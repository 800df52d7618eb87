// A workload that is a program of the user's. Arguments are templates: `${name}` is replaced by a parameter's
// value, by the runtime, without a shell. Checked here are the templates, that each parameter reaches the
// program, and `options`, which passes all parameters that no other argument holds.

#include "runtime/plan/command.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Regex.h>

#include <algorithm>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"
#include "compiler/parse/parse.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/trial_report.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(BadCommand, "the command of '{0}' {1}");
EXPC_DIAGNOSTIC(UnusedParameter, "the parameter '{0}' is never passed to the command");

EXPC_DIAGNOSTIC(ShellWord, "'{0}' is passed to the program unchanged: commands run without a shell");

/// Whether an argument looks like shell syntax (`<`, `>out.txt`, `2>&1`, `|`), which no shell will interpret.
/// Words such as `<pad>` and `>=` do not.
bool isShellWord(StringRef text) {
  static const llvm::Regex shell("^(\\|\\|?|&&?|;|<<?<?|[0-9&]?>>?(&[0-9])?|[0-9&]?(<|>>?)[^<>=&]+)$");
  return shell.match(text);
}

/// Names that the runtime fills in besides parameters (docs/language.md).
const std::vector<std::string> kOfService = {"host", "port"},
                               kOfTrial = {"seed", "trial", "steps", "warmup", "epochs", "trial_folder"};

/// The form of `options` for one parameter: `{name}`, `{dashed}` and `{value}` replaced.
std::string filledIn(std::string text, const std::string& name) {
  std::string dashed = name;
  std::ranges::replace(dashed, '_', '-');
  replaceAll(text, "{name}", name);
  replaceAll(text, "{dashed}", dashed);
  replaceAll(text, "{value}", "${" + name + "}");
  return text;
}

/// The argument templates as a plan has them, with `options` written out.
std::vector<std::string> argumentTexts(const std::vector<CommandArgument>& arguments) {
  std::vector<std::string> texts;
  for (const CommandArgument& argument : arguments) {
    if (!argument.options) texts.push_back(argument.texts[0]);
    for (const std::string& name : argument.parameters)
      for (const std::string& text : argument.texts) texts.push_back(filledIn(text, name));
  }
  return texts;
}

/// Checks one command with its preparation, inputs, metrics and expectations.
struct CommandChecker {
  WorkloadScope& of;
  const ast::WorkloadDecl& declaration = of.declaration;
  const Workload& workload = of.workload;
  diag::Emitter& emitter = of.emitter;
  /// For each parameter whether some argument holds it.
  std::vector<bool> passed = std::vector<bool>(workload.parameters.size());
  /// Other names that may stand in arguments at the moment.
  std::vector<std::string> names = {};
  /// Whether `options` occurred, and whether a shell word was reported.
  bool told_all = false, said = false;
  /// An argument names an unknown parameter.
  bool unknown = false;
  /// Whether the arguments are those of the measured program, which alone may be told inside levels.
  bool measured = false;
  Command command = {};

  Command run() {
    if (!of.service)
      for (const Metric& metric : workload.metrics)
        if (metric.source) command.metrics.push_back(*metric.source);
    // The program is told what it declares itself; parameters of services are told these.
    for (size_t i = 0; i < passed.size(); ++i)
      passed[i] = !workload.services.empty() && findNamed(declaration.params, workload.parameters[i].name) < 0;
    // `prepare` runs before any trial, so values of a trial are not known there; `prepared` is its folder.
    if (declaration.prepare) {
      names = {"prepared"};
      const std::vector<CommandArgument> arguments = program(*declaration.prepare);
      command.preparation =
          plan::Preparation{argumentTexts(arguments), checkTimeout(of.context, of.scope, declaration.prepare->timeout)};
    }
    const std::vector<std::string>& own = of.service ? kOfService : kOfTrial;
    names.insert(names.end(), own.begin(), own.end());
    // From here on values of a trial may stand in arguments.
    if (declaration.before) command.before = argumentTexts(program(*declaration.before));
    if (declaration.ranks) ranks(*declaration.ranks);
    command.exit_codes.assign(declaration.exit_codes.begin(), declaration.exit_codes.end());
    const size_t before = emitter.errors();
    measured = true;
    command.written = program(*declaration.command);
    command.timeout_seconds = checkTimeout(of.context, of.scope, declaration.command->timeout);
    // All parameters are marked by now. After an error a misspelt name may be the one that seems unused.
    if (told_all)
      fillOptions(command.written);
    else if (emitter.errors() == before)
      unused();
    command.arguments = argumentTexts(command.written);
    inputs();
    if (of.service) return ready(), std::move(command);
    bringCommands(of, command);
    for (const Parameter& parameter : workload.parameters)
      if (parameter.inside) command.inside.push_back(*parameter.inside);
    std::ranges::sort(command.inside, {}, &plan::CommandMetric::name);
    for (const ast::ExprPtr& expr : declaration.expectations)
      if (auto expectation = checkExpectation(of, *expr)) {
        // The file that an output must equal is read, so a change of it makes results stale.
        if (expectation->read.from == plan::CommandMetric::From::Same)
          command.inputs.push_back(expectation->read.where);
        command.expectations.push_back(std::move(*expectation));
      }
    return std::move(command);
  }

  /// Starts the report of what is wrong with the command.
  diag::Builder bad(source::Range range, std::string_view why) {
    return emitter.emit(range, BadCommand, declaration.name.name, why);
  }

  /// Checks the arguments of one program and takes them over.
  std::vector<CommandArgument> program(const ast::Command& written) {
    std::vector<CommandArgument> arguments;
    for (const ast::CommandArgument& argument : written.arguments) {
      CommandArgument& made = arguments.emplace_back(CommandArgument{argument.options, {}, {}});
      for (const ast::Text& text : argument.texts) {
        checkTemplate(text);
        if (!argument.options && isShellWord(text.value) && !std::exchange(said, true))
          emitter.emit(text.range, ShellWord, text.value)
              .note("to use a shell, run one: [\"sh\", \"-c\", \"…\"], and list the files that it reads in 'inputs'");
        made.texts.push_back(text.value);
      }
      if (argument.options) checkOptions(written, argument, made);
    }
    const bool none = arguments.empty() || arguments[0].options;
    if (none || arguments[0].texts[0].empty()) bad(written.range, "has no program");
    return arguments;
  }

  /// Checks the `${…}` of one argument and marks the parameters that it passes on. `$$` is a dollar sign.
  void checkTemplate(const ast::Text& text) {
    const std::string& value = text.value;
    for (size_t at = value.find('$'); at != std::string::npos; at = value.find('$', at)) {
      if (value.compare(at, 2, "$$") == 0) {
        at += 2;
        continue;
      }
      size_t end = value.compare(at, 2, "${") == 0 ? value.find('}', at) : std::string::npos;
      if (end == std::string::npos) {
        // `$n` or `$(…)`, as a shell has it; the example names a parameter where it can.
        const StringRef rest = StringRef(value).drop_front(at + 1);
        const StringRef name = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
        const bool named = workload.findParameter(name.str()) >= 0;
        auto error = bad(text.range, "has a '$' without a parameter");
        if (named)
          error.guess(parse::writtenRange(of.context.sources, text.range, at, at + 1 + name.size()),
                      fmt::format("${{{}}}", name.str()));
        return void(error.note("write '${{{}}}', or '$$' for a dollar sign", named ? name.str() : "gpus"));
      }
      placeholder(parse::writtenRange(of.context.sources, text.range, at + 2, end), value.substr(at + 2, end - at - 2));
      at = end;
    }
  }

  /// Marks one parameter as passed; reports an unknown name.
  void placeholder(source::Range range, const std::string& name) {
    StringRef list = name;
    if (!list.consume_back(plan::kFirst)) list.consume_back(plan::kLast);
    const int inside = workload.findParameter(list.str());
    if (inside >= 0 && workload.parameters[inside].inside) {
      passed[inside] = true;
      if (!measured)
        badInside(emitter, range, list.str(),
                  "stands in 'prepare' or 'before', which run for all of its levels at once");
    } else if (int index = workload.findParameter(name); index >= 0)
      passed[index] = true;
    else if (of.lets.contains(name))  // before the trial's own values, as a parameter of such a name is
      compute(range, name);
    else if (const size_t dot = name.find('.'); dot != std::string::npos)
      address(range, name.substr(0, dot), name.substr(dot + 1));
    else if (!is_contained(names, name))
      unknown = !diag::unknownName(emitter, range, "parameter", name, namesOf(workload.parameters, names, of.lets));
  }

  /// Checks `${vllm.port}`: the address of a service of the workload.
  void address(source::Range range, const std::string& service, const std::string& part) {
    std::vector<std::string> own;
    for (const ast::NamedUse& use : declaration.services) own.push_back(use.name.parts.back().name);
    if (!is_contained(own, service)) {
      // A service that is unknown or was refused has been reported.
      if (workload.lacks_service) return;
      if (diag::closest(service, own)) return void(diag::unknownName(emitter, range, "service", service, own));
      return void(emitter.emit(range, BadService, service, fmt::format("is not used by '{}'", declaration.name.name))
                      .note("write 'service {}' in the workload", service));
    }
    if (!is_contained(kOfService, part))
      return void(diag::unknownName(emitter, range, "part of a service's address", part, kOfService));
    const Workload* found = findService(workload, service);
    if (found && found->valid && !tellsPort(*found->command))
      emitter.emit(range, BadService, service, "is not told its port")
          .note(found->range, "write '${{port}}' among its arguments");
  }

  /// Checks `ready` of a service.
  void ready() {
    command.ready = checkReady(of);
    const bool asked =
        command.ready && (command.ready->by == plan::Ready::By::Http || command.ready->by == plan::Ready::By::Tcp);
    if (asked && !unknown && !tellsPort(command))
      emitter.emit(declaration.ready->range, BadService, declaration.name.name, "is not told its port")
          .note(declaration.command->range, "write '${{port}}' among its arguments");
    for (const std::string& name : kOfService)
      if (const int index = workload.findParameter(name); index >= 0)
        emitter
            .emit(workload.parameters[index].range, BadService, declaration.name.name,
                  fmt::format("has a parameter '{0}', and '${{{0}}}' is its own {0}", name))
            .note("give the parameter another name");
  }

  /// Takes a let over as a value of each point.
  void compute(source::Range range, const std::string& name) {
    if (findNamed(command.computed, name) >= 0) return;
    // They determine the resources of a trial, which the planner knows from parameters.
    if (name == "gpus" || name == "nodes")
      return void(bad(range, fmt::format("computes '{}', which only a parameter can set", name)));
    const ast::Expr written{range, ast::NameExpr{{{{name, range}}, range}}};
    const FormulaPtr value = of.context.build(written, of.place());
    for (const unsigned read : parametersOf(*value))
      if (workload.parameters[read].inside)
        return badInside(emitter, range, workload.parameters[read].name,
                         fmt::format("has no single value where '{}' is computed for the command", name));
    if (!value->type.isError()) command.computed.push_back({name, value, combine(Formula::Op::Equal, value, value)});
  }

  /// Checks the form of `options`: `"--{name}" "{value}"`, or both in one text. Only the command itself may
  /// have it, once.
  void checkOptions(const ast::Command& written, const ast::CommandArgument& argument, CommandArgument& made) {
    if (&written != &*declaration.command || told_all)
      return void(bad(argument.range,
                      told_all
                          ? "has 'options' twice, but it already stands for all parameters"
                          : "has 'options' in 'prepare' or 'before', which must name their parameters one by one"));
    told_all = true;
    if (made.texts.empty()) made.texts = {"--{name}", "{value}"};
    const std::string &first = made.texts.front(), &last = made.texts.back();
    const bool named = first.find("{name}") != std::string::npos || first.find("{dashed}") != std::string::npos;
    // Two forms: one text that holds name and value, or a name followed by a value.
    const bool alone = made.texts.size() == 1 && first.find("{value}") != std::string::npos;
    const bool pair =
        made.texts.size() == 2 && first.find("{value}") == std::string::npos && last.starts_with("{value}");
    if (!named || (!alone && !pair))
      bad(argument.range, "has 'options' in a form that no program understands")
          .note(
              "write 'options \"--{{name}}\" \"{{value}}\"' or 'options \"--{{name}}={{value}}\"'; {{dashed}} is "
              "the name with dashes");
  }

  /// Gives `options` the parameters that no argument holds, sorted by name, so that the order of declarations
  /// does not change the command's identity.
  void fillOptions(std::vector<CommandArgument>& arguments) {
    const auto options = std::ranges::find_if(arguments, &CommandArgument::options);
    for (size_t i = 0; i < passed.size(); ++i)
      if (!passed[i]) options->parameters.push_back(workload.parameters[i].name);
    std::ranges::sort(options->parameters);
  }

  /// Warns of parameters that change nothing, as no argument holds them.
  void unused() {
    // A program that asks for its trial gets all parameters there. A default that was refused may have meant some.
    const auto refused = [](const Parameter& parameter) { return parameter.type.isError(); };
    if (plan::asksTrial(command) || std::ranges::any_of(workload.parameters, refused)) return;
    // A parameter that decides whether another exists, or that a let is computed from, changes what runs.
    std::vector<bool> read = passed;
    const auto mark = [&](const FormulaPtr& formula) {
      if (formula)
        for (const unsigned index : parametersOf(*formula)) read[index] = true;
    };
    for (const Parameter& parameter : workload.parameters) mark(parameter.when);
    for (const Computed& computed : command.computed) mark(computed.value);
    for (size_t i = 0; i < read.size(); ++i) {
      const std::string& name = workload.parameters[i].name;
      // `gpus` and `nodes` determine the resources of a trial, whether or not the program is told.
      if (read[i] || name == "gpus" || name == "nodes" ||
          declaration.params[findNamed(declaration.params, name)].inside)
        continue;
      emitter.emit(workload.parameters[i].range, UnusedParameter, name)
          .note(declaration.command->range,
                "write '${{{}}}' in an argument, or 'options' for all parameters; otherwise the value has no effect",
                name);
    }
  }

  /// Checks `ranks gpus`: each rank gets a device, and only `gpus` counts these.
  void ranks(const ast::Identifier& name) {
    command.ranks = name.name == "gpus";
    if (command.ranks && workload.findParameter("gpus") >= 0) return;
    bad(name.range,
        command.ranks ? "has ranks, but no parameter 'gpus' that counts them" : "counts its ranks by 'gpus' only")
        .note("write 'ranks gpus' and 'param gpus : int in 1.. = 1': one process is started for each device");
  }

  /// Takes over inputs and copies, with paths from the study's folder.
  void inputs() {
    const auto add = [&](const std::vector<ast::Text>& from, std::vector<std::string>& to) {
      for (const ast::Text& input : from) {
        if (input.value.empty()) bad(input.range, "has an input without a path");
        to.push_back(load::relativeTo(of.scope.file->directory, input.value));
      }
    };
    add(declaration.inputs, command.inputs);
    add(declaration.copied, command.copied);
  }
};

/// Reports clauses of commands in a workload that has no command.
void refuseClauses(WorkloadScope& of) {
  const ast::WorkloadDecl& declaration = of.declaration;
  const auto refuse = [&](source::Range range, std::string_view clause) {
    of.emitter.emit(range, BadCommand, declaration.name.name, fmt::format("is missing, so '{}' has no effect", clause))
        .note("write 'workload {} command [\"./program\", options] {{ … }}'", declaration.name.name);
  };
  if (!declaration.inputs.empty()) refuse(declaration.inputs[0].range, "inputs");
  if (!declaration.copied.empty()) refuse(declaration.copied[0].range, "inputs");
  if (declaration.outputs) refuse(declaration.outputs->range, "outputs");
  if (declaration.prepare) refuse(declaration.prepare->range, "prepare");
  if (declaration.before) refuse(declaration.before->range, "before");
  if (!declaration.exit_codes.empty()) refuse(declaration.exit_range, "exit");
  if (declaration.ranks) refuse(declaration.ranks->range, "ranks");
  if (!declaration.expectations.empty()) refuse(declaration.expectations[0]->range, "expect");
  if (!declaration.services.empty()) refuse(declaration.services[0].range, "service");
}

}  // namespace

std::optional<double> checkTimeout(Context& context, ModuleScope& scope, const ast::ExprPtr& expr) {
  if (!expr) return std::nullopt;
  const Type time = Type::number(Dimension::of(Dimension::Time));
  auto value = context.constant(*expr, {&scope}, time, "'timeout'");
  const bool good = value && context.positive(*value, expr->range, "'timeout'");
  return good ? std::optional(value->asNumber()->toDouble()) : std::nullopt;
}

std::optional<Command> checkCommand(WorkloadScope& of) {
  if (of.declaration.command) return CommandChecker{of}.run();
  if (of.service)
    of.emitter.emit(of.declaration.name.range, BadService, of.declaration.name.name, "has no 'command'");
  else
    refuseClauses(of);
  return std::nullopt;
}

bool isToldOf(const Workload& workload, const std::string& parameter) {
  const auto holds = [&](const std::string& text) {
    return text.find("${" + parameter + "}") != std::string::npos ||
           text.find("${" + parameter + ".") != std::string::npos;
  };
  return workload.command && std::ranges::any_of(workload.command->arguments, holds);
}

bool isTold(const Workload& workload, std::string_view setting) {
  const std::string told = fmt::format("${{{}}}", setting);
  const auto holds = [&](const std::string& text) { return text.find(told) != std::string::npos; };
  return workload.command &&
         (plan::asksTrial(*workload.command) ||
          (workload.findParameter(setting) < 0 && std::ranges::any_of(workload.command->arguments, holds)));
}

}  // namespace expc::check
