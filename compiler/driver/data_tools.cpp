#include "compiler/driver/data_tools.h"

#include <cassert>

#include "compiler/driver/choice.h"

namespace expc::driver {

namespace {

constexpr const char* kDataExitCodes = "Exit codes: 0 success, 1 error, 2 usage, 130 interrupted.";

void addPath(CLI::App& command, DataOptions& options) {
  command
      .add_option("path", options.path, "A packed file, a folder with train/CLASS and test/CLASS, or one of IDX files")
      ->required()
      ->type_name("PATH");
  addChoice<bool>(command, "--format", options.json, {{"text", false}, {"json", true}}, "How to print (default text)")
      ->type_name("FORMAT");
}

}  // namespace

DataTools::DataTools(CLI::App& app) {
  command_ = app.add_subcommand("data", "Make, pack, describe and verify the images that studies read");
  command_->require_subcommand(1);
  command_->fallthrough();

  make_command_ = command_->add_subcommand("make", "Draw a labelled colour set, the same for the same arguments");
  make_command_->add_option("kind", make_options_.kind, "What to draw: shapes, forms of a class and a colour")
      ->required()
      ->check(CLI::IsMember({"shapes"}))
      ->type_name("KIND");
  make_command_->add_option("--to", make_options_.to, "The folder to write: train/CLASS and test/CLASS")
      ->required()
      ->type_name("DIR");
  make_command_->add_option("--count", make_options_.count, "Training images; a fifth as many are for testing")
      ->required()
      ->type_name("N");
  make_command_->add_option("--size", make_options_.size, "Height and width, 16px to 1024px")
      ->type_name("PIXELS")
      ->capture_default_str();
  make_command_->add_option("--classes", make_options_.classes, "Classes, 2 to 64")
      ->type_name("K")
      ->capture_default_str();
  addChoice<bool>(*make_command_, "--format", make_options_.png, {{"jpeg", false}, {"png", true}},
                  "Format of the files (default jpeg)")
      ->type_name("FORMAT");
  make_command_->add_option("--seed", make_options_.seed, "Another seed gives other images")
      ->type_name("N")
      ->capture_default_str();
  make_command_->add_flag("--force", make_options_.force, "Replace a folder that this command made");

  pack_command_ = command_->add_subcommand("pack", "Decode images into one file that loaders map into memory");
  pack_command_
      ->add_option("source", pack_options_.source,
                   "A folder with train/CLASS and test/CLASS, one of IDX files, or a packed file")
      ->required()
      ->type_name("SOURCE");
  pack_command_->add_option("--to", pack_options_.to, "The file to write")->required()->type_name("FILE");
  pack_command_
      ->add_option("--size", pack_options_.size,
                   "Scale to this height and width, as PIL does (default: as they are, all of one size)")
      ->type_name("PIXELS");
  pack_command_->add_flag("--skip-corrupt", pack_options_.skip_corrupt,
                          "Leave out images that cannot be decoded, and list them");
  pack_command_->add_flag("--force", pack_options_.force, "Replace a packed file that is there");

  info_command_ = command_->add_subcommand("info", "Say what a data set holds: format, images, classes, sizes, digest");
  addPath(*info_command_, info_options_);
  verify_command_ = command_->add_subcommand("verify", "Decode every image, or check its sum; list what is damaged");
  addPath(*verify_command_, verify_options_);

  for (CLI::App* command : {command_, make_command_, pack_command_, info_command_}) command->footer(kDataExitCodes);
  verify_command_->footer("Exit codes: 0 all is well, 1 an error or damage, 2 usage, 130 interrupted.");
  for (CLI::App* command : {make_command_, pack_command_, info_command_, verify_command_}) command->fallthrough();
}

int DataTools::run(const Console& console) const {
  if (*make_command_) return makeData(make_options_, console);
  if (*pack_command_) return packData(pack_options_, console);
  if (*info_command_) return dataInfo(info_options_, console);
  assert(*verify_command_);
  return verifyData(verify_options_, console);
}

}  // namespace expc::driver
