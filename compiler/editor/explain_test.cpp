#include "compiler/editor/explain.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "compiler/editor/pages.h"
#include "tests/source_dir.h"

namespace expc::editor {

TEST_CASE("every kind has a page that begins with its code and name") {
  for (diag::Kind kind : diag::allKinds()) {
    CAPTURE(diag::code(kind));
    const std::string title = "# " + std::string(diag::code(kind)) + " " + std::string(diag::slug(kind)) + "\n";
    CHECK(page(kind).substr(0, title.size()) == title);
    CHECK(summary(kind).ends_with("."));
    CHECK(summary(kind).find('\n') == std::string::npos);
  }
  CHECK(pageNames().size() == diag::allKinds().size());
}

TEST_CASE("the embedded pages are the files, byte for byte") {
  for (std::string_view name : pageNames()) {
    std::ifstream file(std::string(expc::test::sourceDir() + "/docs/diagnostics/") + std::string(name) + ".md");
    std::stringstream text;
    text << file.rdbuf();
    CHECK(text.str() == pageText(name));
  }
}

TEST_CASE("a kind is found by code and slug in any case, others by their nearest") {
  CHECK(find("E0203") == diag::Kind::UnknownUnit);
  CHECK(find("e0203") == diag::Kind::UnknownUnit);
  CHECK(find("Unknown-Unit") == diag::Kind::UnknownUnit);
  CHECK(find("w0402") == diag::Kind::UselessRule);
  CHECK(!find("E9999"));
  CHECK(!find(""));
  CHECK(diag::closest("unknown-unti", names()) == "unknown-unit");
  CHECK(!diag::closest("something entirely different", names()));
}

TEST_CASE("paragraphs and lists are wrapped, code is not") {
  const std::string text = renderMarkdown(
      "# Title\n\nOne two three four five\nsix seven.\n\n- item one two three four\n- b\n\n```exp\nlet a = "
      "1234567890123456789012\n\nlet b = 2\n```\n\nEnd.\n",
      {.width = 20, .colour = false});
  CHECK(text ==
        "Title\n\nOne two three four\nfive six seven.\n\n- item one two three\n  four\n- b\n\n"
        "    let a = 1234567890123456789012\n\n    let b = 2\n\nEnd.\n");
}

TEST_CASE("code, strong and links in a paragraph") {
  const std::string source = "See [the table](x.md), `a b c` and **very strong** words.";
  CHECK(renderMarkdown(source, {.width = 80, .colour = false}) == "See the table, `a b c` and very strong words.\n");
  CHECK(renderMarkdown(source, {.width = 80, .colour = true}) ==
        "See the table, \x1b[36ma b c\x1b[0m and \x1b[1mvery\x1b[0m \x1b[1mstrong\x1b[0m words.\n");
}

TEST_CASE("expected codes stand out, other comments are dim") {
  CHECK(renderMarkdown("```exp\na // E0203\nb // note\n```\n", {.width = 80, .colour = true}) ==
        "    a \x1b[1;31m// E0203\x1b[0m\n    b \x1b[2m// note\x1b[0m\n");
}

TEST_CASE("odd input ends and loses nothing") {
  for (const char* text : {"", "`", "**", "[a](", "- ", "#", "```", "   ", "a\xff b", "[a] (b) * `c"})
    CHECK_NOTHROW(renderMarkdown(text, {.width = 0, .colour = true}));
  CHECK(renderMarkdown("[a] (b) * `c", {.width = 80, .colour = false}) == "[a] (b) * `c\n");
}

}  // namespace expc::editor
