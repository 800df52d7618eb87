#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "compiler/driver/commands.h"
#include "compiler/driver/console.h"
#include "compiler/driver/data_tools.h"

namespace expc::driver {

/// The end of the help of commands that reach no verdicts.
inline constexpr const char* kPlainExitCodes = "Exit codes: 0 success, 1 error, 2 usage.";

/// The subcommands that help to write studies: their options and help texts. They neither measure nor judge.
class Tools {
 public:
  explicit Tools(CLI::App& app);
  /// Runs the one that was asked for.
  int run(const Console& console) const;

 private:
  ExplainOptions explain_options_;
  CLI::App* explain_command_;
  FmtOptions fmt_options_;
  CLI::App* fmt_command_;
  DocOptions doc_options_;
  CLI::App* doc_command_;
  NewOptions new_options_;
  CLI::App* new_command_;
  std::optional<DataTools> data_;  // made in its turn: help lists commands in the order in which they were added
  std::string shell_;
  CLI::App* completion_command_;
  CLI::App* lsp_command_;
  bool lsp_stdio_ = false;  // changes nothing
};

}  // namespace expc::driver
