#include "compiler/driver/tools.h"

#include <cassert>

#include "compiler/driver/choice.h"
#include "compiler/driver/completion.h"

namespace expc::driver {

Tools::Tools(CLI::App& app) {
  explain_command_ = app.add_subcommand("explain", "Explain a diagnostic: its cause, examples, and how to mend it");
  explain_command_->add_option("code", explain_options_.code, "A code or name, such as E0203 or unknown-unit")
      ->type_name("CODE");
  explain_command_->add_flag("--list", explain_options_.list, "List every diagnostic (also without a CODE)");

  fmt_command_ = app.add_subcommand("fmt", "Give study files the one layout; there is no style to choose");
  fmt_command_->add_option("paths", fmt_options_.paths, "Files and folders, or - for standard input to standard output")
      ->required()
      ->type_name("PATH");
  fmt_command_->add_flag("--check", fmt_options_.check,
                         "Write nothing, name the files that would change; exit with 1 then");
  fmt_command_->add_flag("--diff", fmt_options_.diff, "Write nothing, print what would change");

  doc_command_ = app.add_subcommand("doc", "Print what a module declares: workloads, parameters, metrics, enums");
  doc_command_
      ->add_option("module", doc_options_.module,
                   "A built-in module, such as std.image, or a file (.exp); without one, "
                   "the built-in modules are listed")
      ->type_name("MODULE|FILE");
  doc_command_->add_option("workload", doc_options_.workload, "Only this workload of it")->type_name("WORKLOAD");
  addChoice<bool>(*doc_command_, "--format", doc_options_.markdown, {{"text", false}, {"markdown", true}},
                  "How to print (default text)")
      ->type_name("FORMAT");

  new_command_ = app.add_subcommand("new", "Write a commented study to start from");
  new_command_->add_option("name", new_options_.name, "Its name; the file is NAME.exp")
      ->type_name("NAME")
      ->capture_default_str();
  new_command_
      ->add_option("--workload", new_options_.workload,
                   "What it is about: image.mobilenet_v2, or command, a program of your own")
      ->type_name("WORKLOAD")
      ->capture_default_str();
  new_command_->add_flag("--force", new_options_.force, "Replace a file of that name");

  data_.emplace(app);

  completion_command_ =
      app.add_subcommand("completion", "Print a script with which a shell completes commands, options and names");
  completion_command_->add_option("shell", shell_, "bash, zsh or fish")->required()->type_name("SHELL");

  lsp_command_ = app.add_subcommand("lsp", "Serve an editor over standard input and output (docs/editors.md)");
  lsp_command_->add_flag("--stdio", lsp_stdio_, "The only way to be spoken to; for clients that insist on saying so");
  lsp_command_->footer("Exit codes: 0 after shutdown and exit, 1 if the client went without, 2 usage.");

  for (CLI::App* command : {explain_command_, doc_command_, new_command_, completion_command_})
    command->footer(kPlainExitCodes);
  fmt_command_->footer("Exit codes: 0 success, 1 an error, or with --check a file that would change, 2 usage.");
}

int Tools::run(const Console& console) const {
  if (*fmt_command_) return format(fmt_options_, console);
  if (*doc_command_) return doc(doc_options_, console);
  if (*new_command_) return newStudy(new_options_, console);
  if (data_->asked()) return data_->run(console);
  if (*completion_command_) return printCompletionScript(shell_, console);
  if (*lsp_command_) return lsp(console);
  assert(*explain_command_);
  return explain(explain_options_, console);
}

}  // namespace expc::driver
