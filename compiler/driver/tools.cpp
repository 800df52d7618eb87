#include "compiler/driver/tools.h"

#include <cassert>

namespace expc::driver {

Tools::Tools(CLI::App& app) {
  explain_command_ = app.add_subcommand("explain", "Explain a diagnostic: its cause, examples, and how to mend it");
  explain_command_->add_option("code", explain_options_.code, "A code or name, such as E0203 or unknown-unit")
      ->type_name("CODE");
  explain_command_->add_flag("--list", explain_options_.list, "List every diagnostic (also without a CODE)");
}

int Tools::run(const Console& console) const {
  assert(*explain_command_);
  return explain(explain_options_, console);
}

}  // namespace expc::driver
