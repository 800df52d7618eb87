#include "compiler/driver/commands.h"
#include "compiler/driver/prepare.h"
#include "compiler/driver/subcommand.h"

namespace expc::driver {

namespace {

constexpr const char* kDataExitCodes = "Exit codes: 0 success, 1 error, 2 usage, 130 interrupted.";

void addMake(CLI::App& data, Asked& asked) {
  auto [command, options] =
      addCommand(data, asked, "make", "Draw a labelled colour set, the same for the same arguments", makeData);
  command.footer(kDataExitCodes);
  command.fallthrough();
  command.add_option("kind", options.kind, "What to draw: shapes, forms of a class and a colour")
      ->required()
      ->check(CLI::IsMember({"shapes"}))
      ->type_name("KIND");
  command.add_option("--to", options.to, "The folder to write: train/CLASS and test/CLASS")
      ->required()
      ->type_name("DIR");
  command.add_option("--count", options.count, "Training images; a fifth as many are for testing")
      ->required()
      ->type_name("N");
  command.add_option("--size", options.size, "Height and width, 16px to 1024px")
      ->type_name("PIXELS")
      ->capture_default_str();
  command.add_option("--classes", options.classes, "Classes, 2 to 64")->type_name("K")->capture_default_str();
  addChoice<bool>(command, "--format", options.png, {{"jpeg", false}, {"png", true}},
                  "Format of the files (default jpeg)")
      ->type_name("FORMAT");
  command.add_option("--seed", options.seed, "Another seed gives other images")->type_name("N")->capture_default_str();
  command.add_flag("--force", options.force, "Replace a folder that this command made");
}

void addPack(CLI::App& data, Asked& asked) {
  auto [command, options] =
      addCommand(data, asked, "pack", "Decode images into one file that loaders map into memory", packData);
  command.footer(kDataExitCodes);
  command.fallthrough();
  command
      .add_option("source", options.source,
                  "A folder with train/CLASS and test/CLASS, one of IDX files, or a packed file")
      ->required()
      ->type_name("SOURCE");
  command.add_option("--to", options.to, "The file to write")->required()->type_name("FILE");
  command
      .add_option("--size", options.size,
                  "Scale to this height and width, as PIL does (default: as they are, all of one size)")
      ->type_name("PIXELS");
  command.add_flag("--skip-corrupt", options.skip_corrupt, "Leave out images that cannot be decoded, and list them");
  command.add_flag("--force", options.force, "Replace a packed file that is there");
}

void addPrepare(CLI::App& data, Asked& asked) {
  auto [command, options] =
      addCommand(data, asked, "prepare", "Put downloads into the folders that the studies name", prepareData);
  command.footer("Exit codes: 0 all is there, 1 an error or something is missing, 2 usage.");
  command.fallthrough();
  command.add_option("what", options.what, "What to prepare: reference, the data of the reference study")
      ->required()
      ->check(CLI::IsMember({"reference"}))
      ->type_name("WHAT");
  command
      .add_option("--from", options.from, "The folder of downloads: MNIST, alpaca_cleaned, samsum, C4-200M, Llama 3")
      ->type_name("DIR")
      ->capture_default_str();
  command.add_option("--to", options.to, "The folder to fill: data beside the studies")
      ->type_name("DIR")
      ->capture_default_str();
}

/// A command that looks at a data set that is there.
void addLook(CLI::App& data, Asked& asked, const char* name, const char* help, const char* footer,
             int (*run)(const DataOptions&, const Console&)) {
  auto [command, options] = addCommand(data, asked, name, help, run);
  command.footer(footer);
  command.fallthrough();
  command
      .add_option("path", options.path, "A packed file, a folder with train/CLASS and test/CLASS, or one of IDX files")
      ->required()
      ->type_name("PATH");
  addJson(command, options.json);
}

}  // namespace

void addDataTools(CLI::App& app, Asked& asked) {
  CLI::App& data = *app.add_subcommand("data", "Make, prepare, pack, describe and verify what studies read");
  data.require_subcommand(1);
  data.fallthrough();
  data.footer(kDataExitCodes);
  addMake(data, asked);
  addPrepare(data, asked);
  addPack(data, asked);
  addLook(data, asked, "info", "Say what a data set holds: format, images, classes, sizes, digest", kDataExitCodes,
          dataInfo);
  addLook(data, asked, "verify", "Decode every image, or check its sum; list what is damaged",
          "Exit codes: 0 all is well, 1 an error or damage, 2 usage, 130 interrupted.", verifyData);
}

}  // namespace expc::driver
