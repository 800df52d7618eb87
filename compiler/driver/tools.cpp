#include "compiler/driver/commands.h"
#include "compiler/driver/completion.h"
#include "compiler/driver/subcommand.h"

namespace expc::driver {

namespace {

void addExplain(CLI::App& app, Asked& asked) {
  auto [command, options] =
      addCommand(app, asked, "explain", "Explain a diagnostic: its cause, examples, and how to mend it", explain);
  command.footer(kPlainExitCodes);
  addOption(command, "code", "CODE", options.code, "A code or name, such as E0203 or unknown-unit");
  command.add_flag("--list", options.list, "List every diagnostic (also without a CODE)");
}

void addFmt(CLI::App& app, Asked& asked) {
  auto [command, options] =
      addCommand(app, asked, "fmt", "Give study files the one layout; there is no style to choose", format);
  command.footer("Exit codes: 0 success, 1 an error, or with --check a file that would change, 2 usage.");
  addOption(command, "paths", "PATH", options.paths, "Files and folders, or - for standard input to standard output")
      ->required();
  command.add_flag("--check", options.check, "Write nothing, name the files that would change; exit with 1 then");
  command.add_flag("--diff", options.diff, "Write nothing, print what would change");
}

void addDoc(CLI::App& app, Asked& asked) {
  auto [command, options] =
      addCommand(app, asked, "doc", "Print what a module declares: workloads, parameters, metrics, enums", doc);
  command.footer(kPlainExitCodes);
  addOption(command, "module", "MODULE|FILE", options.module,
            "A built-in module, such as std.image, or a file (.exp); without one, "
            "the built-in modules are listed");
  addOption(command, "workload", "WORKLOAD", options.workload, "Only this workload of it");
  addChoice<bool>(command, "--format", "FORMAT", options.markdown, {{"text", false}, {"markdown", true}},
                  "How to print (default text)");
}

void addNew(CLI::App& app, Asked& asked) {
  auto [command, options] = addCommand(app, asked, "new", "Write a commented study to start from", newStudy);
  command.footer(kPlainExitCodes);
  addOption(command, "name", "NAME", options.name, "Its name; the file is NAME.exp")->capture_default_str();
  addOption(command, "--workload", "WORKLOAD", options.workload,
            "What it is about: image.mobilenet_v2 or llm.finetune, which need torch, or command, a program of your own")
      ->capture_default_str();
  command.add_flag("--force", options.force, "Replace a file of that name");
}

}  // namespace

void addTools(CLI::App& app, Asked& asked) {
  addExplain(app, asked);
  addFmt(app, asked);
  addDoc(app, asked);
  addNew(app, asked);
  addDataTools(app, asked);
  addStoreTools(app, asked);

  auto [completion, shell] =
      addCommand(app, asked, "completion", "Print a script with which a shell completes commands, options and names",
                 printCompletionScript);
  completion.footer(kPlainExitCodes);
  addOption(completion, "shell", "SHELL", shell, "bash, zsh or fish")->required();

  auto [server, options] =
      addCommand(app, asked, "lsp", "Serve an editor over standard input and output (docs/editors.md)", lsp);
  server.footer("Exit codes: 0 after shutdown and exit, 1 if the client went without, 2 usage.");
  server.add_flag("--stdio", options.stdio, "The only way to be spoken to; for clients that insist on saying so");
}

}  // namespace expc::driver
