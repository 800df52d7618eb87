// A workload that is a program of the user's.

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Regex.h>

#include <algorithm>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"
#include "compiler/parse/parse.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(BadCommand, Error, "the command of '{0}' {1}", std::string_view, std::string_view);
EXPC_DIAGNOSTIC(UnusedParameter, Warning, "no argument of the command holds the parameter '{0}'", std::string_view);

EXPC_DIAGNOSTIC(ShellWord, Warning, "no shell reads this command, so its program gets '{0}' itself", std::string_view);

/// Whether an argument is what a shell would take for a redirection or for what stands between two commands: `<`,
/// `>out.txt`, `2>&1`, `|`. `<pad>` and `>=` are none.
bool isShellWord(llvm::StringRef text) {
  static const llvm::Regex shell("^(\\|\\|?|&&?|;|<<?<?|[0-9&]?>>?(&[0-9])?|[0-9&]?(<|>>?)[^<>=&]+)$");
  return shell.match(text);
}

/// What the runtime fills in beside parameters (docs/language.md).
const std::vector<std::string> kOfTrial = {"seed", "trial", "steps", "warmup", "epochs", "trial_folder"};

/// The form of `options` for one parameter.
std::string filledIn(std::string text, const std::string& name) {
  std::string dashed = name;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  replaceAll(text, "{name}", name);
  replaceAll(text, "{dashed}", dashed);
  replaceAll(text, "{value}", "${" + name + "}");
  return text;
}

class CommandChecker {
 public:
  CommandChecker(Context& context, const ast::WorkloadDecl& declaration, const Workload& workload, ModuleScope& scope)
      : context_(context), declaration_(declaration), workload_(workload), scope_(scope) {
    passed_.resize(workload.parameters.size());
  }

  Command run() {
    Command command;
    if (declaration_.prepare) {
      names_ = {"prepared"};
      command.preparation = program(*declaration_.prepare);
    }
    names_.insert(names_.end(), kOfTrial.begin(), kOfTrial.end());
    if (declaration_.before) command.before = program(*declaration_.before);
    command.exit_codes = declaration_.exit_codes;
    const size_t before = context_.emitter.errors();
    command.program = program(*declaration_.command);
    if (told_all_)
      fillOptions(command.program);
    else if (context_.emitter.errors() == before)  // a name that is wrong may be the one that is missing
      unused();
    inputs(command);
    for (const ast::ExprPtr& expr : declaration_.expectations)
      if (auto expectation = checkExpectation(context_, scope_, declaration_, *expr)) {
        if (expectation->read.from == plan::CommandMetric::From::Same)
          command.inputs.push_back(expectation->read.where);
        command.expectations.push_back(std::move(*expectation));
      }
    return command;
  }

 private:
  Command::Program program(const ast::Command& written) {
    Command::Program program;
    for (const ast::CommandArgument& argument : written.arguments) {
      CommandArgument& made = program.arguments.emplace_back(CommandArgument{argument.options, {}, {}});
      for (const ast::Text& text : argument.texts) {
        checkTemplate(text);
        if (!argument.options && isShellWord(text.value) && !std::exchange(said_, true))
          context_.emitter.build(text.range, ShellWord, text.value)
              .note({}, "a shell is a program, too: [\"sh\", \"-c\", \"…\"], with the files that it reads in 'inputs'")
              .emit();
        made.texts.push_back(text.value);
      }
      if (argument.options) checkOptions(written, argument, made);
    }
    const bool none = program.arguments.empty() || program.arguments[0].options;
    if (none || program.arguments[0].texts[0].empty())
      context_.emitter.emit(written.range, BadCommand, declaration_.name.name, "names no program");
    if (written.timeout) program.timeout = timeout(*written.timeout);
    return program;
  }

  /// Checks the `${…}` of one argument and marks the parameters that it passes on.
  void checkTemplate(const ast::Text& text) {
    const std::string& value = text.value;
    for (size_t at = value.find('$'); at != std::string::npos; at = value.find('$', at)) {
      if (value.compare(at, 2, "$$") == 0) {
        at += 2;
        continue;
      }
      size_t end = value.compare(at, 2, "${") == 0 ? value.find('}', at) : std::string::npos;
      if (end == std::string::npos)
        return context_.emitter
            .build(text.range, BadCommand, declaration_.name.name, "has a '$' that begins no parameter")
            .note({}, "write '${{gpus}}', or '$$' for a dollar sign")
            .emit();
      placeholder(parse::writtenRange(context_.sources, text.range, at + 2, end), value.substr(at + 2, end - at - 2));
      at = end;
    }
  }

  void placeholder(source::Range range, const std::string& name) {
    if (int index = workload_.findParameter(name); index >= 0)
      passed_[static_cast<size_t>(index)] = true;
    else if (std::ranges::count(names_, name) == 0)
      diag::unknownName(context_.emitter, range, "parameter", name, namesOf(workload_.parameters, names_));
  }

  void checkOptions(const ast::Command& written, const ast::CommandArgument& argument, CommandArgument& made) {
    if (&written != &*declaration_.command || told_all_)
      return context_.emitter.emit(argument.range, BadCommand, declaration_.name.name,
                                   told_all_
                                       ? "has 'options' twice, which stands for all parameters"
                                       : "has 'options' in 'prepare' or 'before', which must name what they are told");
    told_all_ = true;
    if (made.texts.empty()) made.texts = {"--{name}", "{value}"};
    const std::string &first = made.texts.front(), &last = made.texts.back();
    const bool named = first.find("{name}") != std::string::npos || first.find("{dashed}") != std::string::npos;
    const bool alone = made.texts.size() == 1 && first.find("{value}") != std::string::npos;
    const bool pair =
        made.texts.size() == 2 && first.find("{value}") == std::string::npos && last.starts_with("{value}");
    if (!named || (!alone && !pair))
      context_.emitter
          .build(argument.range, BadCommand, declaration_.name.name,
                 "has 'options' in a form that no program understands")
          .note({},
                "write 'options \"--{{name}}\" \"{{value}}\"' or 'options \"--{{name}}={{value}}\"'; {{dashed}} is "
                "the name with dashes")
          .emit();
  }

  std::optional<double> timeout(const ast::Expr& expr) {
    const Type time = Type::number(Dimension::of(Dimension::Time));
    auto value = context_.expressions.constant(expr, {&scope_}, time, "'timeout'");
    const bool good = value && context_.expressions.positive(*value, expr.range, "'timeout'");
    return good ? std::optional(value->asNumber()->toDouble()) : std::nullopt;
  }

  /// By name, so that the order of declarations means nothing.
  void fillOptions(Command::Program& program) {
    const auto options = std::ranges::find_if(program.arguments, &CommandArgument::options);
    for (size_t i = 0; i < passed_.size(); ++i)
      if (!passed_[i]) options->parameters.push_back(workload_.parameters[i].name);
    std::sort(options->parameters.begin(), options->parameters.end());
  }

  void unused() {
    std::vector<bool> read = passed_;  // a parameter that decides whether another is there changes what runs
    for (const Parameter& parameter : workload_.parameters)
      if (parameter.when)
        for (const unsigned index : parametersOf(*parameter.when)) read[index] = true;
    for (size_t i = 0; i < read.size(); ++i) {
      const std::string& name = workload_.parameters[i].name;
      // `gpus` is how many slots a trial gets, and `nodes` on how many nodes, whether or not the program is told.
      if (read[i] || name == "gpus" || name == "nodes") continue;
      context_.emitter.build(workload_.parameters[i].range, UnusedParameter, name)
          .note(declaration_.command->range,
                "write '${{{}}}' in one of them, or 'options' for all parameters; without it the value changes nothing",
                name)
          .emit();
    }
  }

  void inputs(Command& command) {
    const auto add = [&](const std::vector<ast::Text>& from, std::vector<std::string>& to) {
      for (const ast::Text& input : from) {
        if (input.value.empty())
          context_.emitter.emit(input.range, BadCommand, declaration_.name.name, "has an input without a path");
        to.push_back(load::relativeTo(scope_.file->directory, input.value));
      }
    };
    add(declaration_.inputs, command.inputs);
    add(declaration_.copied, command.copied);
  }

  Context& context_;
  const ast::WorkloadDecl& declaration_;
  const Workload& workload_;
  ModuleScope& scope_;
  std::vector<bool> passed_;              // by parameter: some argument holds it
  std::vector<std::string> names_;        // what else may stand in arguments
  bool told_all_ = false, said_ = false;  // `options`; the first word of a shell
};

/// What says how a program is run and read has no meaning in a workload that is none.
void refuseClauses(Context& context, const ast::WorkloadDecl& declaration) {
  const auto refuse = [&](source::Range range, std::string_view clause) {
    context.emitter
        .build(range, BadCommand, declaration.name.name, fmt::format("is missing, so '{}' says nothing", clause))
        .note({}, "write 'workload {} command [\"./program\", options] {{ … }}'", declaration.name.name)
        .emit();
  };
  if (!declaration.inputs.empty()) refuse(declaration.inputs[0].range, "inputs");
  if (!declaration.copied.empty()) refuse(declaration.copied[0].range, "inputs");
  if (declaration.outputs) refuse(declaration.outputs->range, "outputs");
  if (declaration.prepare) refuse(declaration.prepare->range, "prepare");
  if (declaration.before) refuse(declaration.before->range, "before");
  if (!declaration.exit_codes.empty()) refuse(declaration.exit_range, "exit");
  if (!declaration.expectations.empty()) refuse(declaration.expectations[0]->range, "expect");
}

}  // namespace

std::optional<Command> checkCommand(Context& context, const ast::WorkloadDecl& declaration, const Workload& workload,
                                    ModuleScope& scope) {
  if (!declaration.command) {
    refuseClauses(context, declaration);
    return std::nullopt;
  }
  return CommandChecker(context, declaration, workload, scope).run();
}

std::vector<std::string> argumentTexts(const Command::Program& program) {
  std::vector<std::string> texts;
  for (const CommandArgument& argument : program.arguments) {
    if (!argument.options) texts.push_back(argument.texts[0]);
    for (const std::string& name : argument.parameters)
      for (const std::string& text : argument.texts) texts.push_back(filledIn(text, name));
  }
  return texts;
}

bool isTold(const Workload& workload, std::string_view setting) {
  const std::string told = fmt::format("${{{}}}", setting);
  return workload.command && workload.findParameter(setting) < 0 &&
         std::ranges::any_of(
             argumentTexts(workload.command->program),
             [&](const std::string& text) { return text.find(told) != std::string::npos; });
}

}  // namespace expc::check
