#include "compiler/driver/commands.h"
#include "compiler/driver/subcommand.h"

namespace expc::driver {

namespace {

constexpr const char* kDataExitCodes = "Exit codes: 0 success, 1 error, 2 usage, 130 interrupted.";

void addMake(CLI::App& data, Asked& asked) {
  auto [command, options] =
      addCommand(data, asked, "make", "Draw a labelled colour set, the same for the same arguments", makeData);
  command.footer(kDataExitCodes);
  command.fallthrough();
  addOption(command, "kind", "KIND", options.kind, "What to draw: shapes, forms of a class and a colour")
      ->required()
      ->check(CLI::IsMember({"shapes"}));
  addOption(command, "--to", "DIR", options.to, "The folder to write: train/CLASS and test/CLASS")->required();
  addOption(command, "--count", "N", options.count, "Training images; a fifth as many are for testing")->required();
  addOption(command, "--size", "PIXELS", options.size, "Height and width, 16px to 1024px")->capture_default_str();
  addOption(command, "--classes", "K", options.classes, "Classes, 2 to 64")->capture_default_str();
  addChoice<bool>(command, "--format", "FORMAT", options.png, {{"jpeg", false}, {"png", true}},
                  "Format of the files (default jpeg)");
  addOption(command, "--seed", "N", options.seed, "Another seed gives other images")->capture_default_str();
  command.add_flag("--force", options.force, "Replace a folder that this command made");
}

void addPack(CLI::App& data, Asked& asked) {
  auto [command, options] =
      addCommand(data, asked, "pack", "Decode images into one file that loaders map into memory", packData);
  command.footer(kDataExitCodes);
  command.fallthrough();
  addOption(command, "source", "SOURCE", options.source,
            "A folder with train/CLASS and test/CLASS, one of IDX files, or a packed file")
      ->required();
  addOption(command, "--to", "FILE", options.to, "The file to write")->required();
  addOption(command, "--size", "PIXELS", options.size,
            "Scale to this height and width, as PIL does (default: as they are, all of one size)");
  command.add_flag("--skip-corrupt", options.skip_corrupt, "Leave out images that cannot be decoded, and list them");
  command.add_flag("--force", options.force, "Replace a packed file that is there");
}

void addPrepare(CLI::App& data, Asked& asked) {
  auto [command, options] =
      addCommand(data, asked, "prepare", "Put downloads into the folders that the studies name", prepareData);
  command.footer("Exit codes: 0 all is there, 1 an error or something is missing, 2 usage.");
  command.fallthrough();
  addOption(command, "what", "WHAT", options.what, "What to prepare: reference, the data of the reference study")
      ->required()
      ->check(CLI::IsMember({"reference"}));
  addOption(command, "--from", "DIR", options.from,
            "The folder of downloads: MNIST, alpaca_cleaned, samsum, C4-200M, Llama 3")
      ->capture_default_str();
  addOption(command, "--to", "DIR", options.to, "The folder to fill: data beside the studies")->capture_default_str();
}

/// A command that looks at a data set that is there.
void addLook(CLI::App& data, Asked& asked, const char* name, const char* help, const char* footer,
             int (*run)(const DataOptions&, const Console&)) {
  auto [command, options] = addCommand(data, asked, name, help, run);
  command.footer(footer);
  command.fallthrough();
  addOption(command, "path", "PATH", options.path,
            "A packed file, a folder with train/CLASS and test/CLASS, or one of IDX files")
      ->required();
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
