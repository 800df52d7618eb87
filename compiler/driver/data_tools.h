#pragma once

#include <CLI/CLI.hpp>

#include "compiler/driver/commands.h"
#include "compiler/driver/console.h"

namespace expc::driver {

/// `expc data` and its subcommands: options and help texts.
class DataTools {
 public:
  explicit DataTools(CLI::App& app);
  bool asked() const { return command_->parsed(); }
  /// Runs the one that was asked for.
  int run(const Console& console) const;

 private:
  CLI::App* command_;
  MakeOptions make_options_;
  CLI::App* make_command_;
  PackOptions pack_options_;
  CLI::App* pack_command_;
  DataOptions info_options_;
  CLI::App* info_command_;
  DataOptions verify_options_;
  CLI::App* verify_command_;
};

}  // namespace expc::driver
