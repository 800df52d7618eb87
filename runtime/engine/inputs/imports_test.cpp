#include "runtime/engine/inputs/imports.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/folder.h"

using expc::engine::inputs::importsBeside;

TEST_CASE("modules beside a script that are no inputs are found as Python finds them") {
  const expc::test::TestFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(folder.path) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  write("src/b.py",
        "#!/usr/bin/env python3\nimport json, raw, net as n; import sys\n  from pkg.mod import x # y\nfrom . import "
        "own\n");
  write("src/net.py", "import deep\n");
  write("src/deep.py", "");
  write("src/own.py", "");
  write("src/pkg/mod.py", "import other\n");
  write("src/pkg/other.py", "");
  write("net.py", "");
  write("src/raw/a.csv", "");
  const auto found = [&](const std::vector<std::string>& inputs) {
    std::string text;
    for (const auto& import : importsBeside(folder.path, {"src/b.py"}, inputs))
      text += import.script + " imports " + import.module + "; ";
    return text;
  };
  CHECK(found({"src/b.py"}) == "src/b.py imports src/net.py; src/b.py imports src/pkg/**; ");
  CHECK(found({"src/b.py", "src/net.py", "src/pkg/mod.py"}) == "src/net.py imports src/deep.py; ");
  CHECK(found({"src/b.py", "src/deep.py", "src/net.py", "src/pkg/mod.py"}).empty());
  CHECK(importsBeside(folder.path, {}, {"src/b.py"}).empty());
}
