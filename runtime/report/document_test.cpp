// Checks how equal blocks look in a terminal and on the page.

#include "runtime/report/document.h"

#include <doctest/doctest.h>

#include "tests/support/text/has.h"

using namespace expc::report;
using Kind = Column::Kind;

namespace {

using expc::test::has;

Table example() {
  Table table{.label = "An example"};
  table.columns = {{"level", Kind::Label},
                   {"verdict", Kind::Words},
                   {"estimate"},
                   {"bound", Kind::Number, Shown::OnPage},
                   {"why", Kind::Prose, Shown::InText},
                   {"drawn", Kind::Drawing, Shown::OnPage}};
  Row row{{}, "fail"};
  row.add("a<b>");
  row.add("FAIL").more = "because";
  row.add("1.5x", Tone::Strong).below = {"[1.4x, 1.6x]", "(published 2x)"};
  row.add("> 2x");
  row.add("because");
  row.add("<svg></svg>");
  table.rows = {row};
  table.all = 1;
  return table;
}

std::string text(Block block, unsigned width = 100) { return documentText({std::move(block)}, width, false); }

/// Returns a table of these columns, each with the texts of its rows.
std::string tableText(const std::vector<std::pair<Column, std::vector<std::string>>>& columns, unsigned width) {
  Table table;
  for (const auto& [column, cells] : columns) {
    table.columns.push_back(column);
    table.rows.resize(cells.size());
    for (size_t i = 0; i < cells.size(); ++i) table.rows[i].add(cells[i]);
  }
  return text(std::move(table), width);
}

}  // namespace

TEST_CASE("a table has on each medium the columns that are for it") {
  CHECK(text(example()) ==
        "level  verdict                          estimate  why\n"
        "a<b>   FAIL     1.5x [1.4x, 1.6x] (published 2x)  because\n");
  const std::string page = pageMarkup(example());
  CHECK(has(page, "<tr class=\"fail\"><th scope=\"row\" data-label=\"level\">a&lt;b&gt;</th>"));
  CHECK(has(page, "<td class=\"word fail\" data-label=\"verdict\">FAIL<small>because</small></td>"));
  CHECK(has(page, "<b>1.5x</b><small>[1.4x, 1.6x]</small><small>(published 2x)</small>"));
  CHECK(has(page, "data-label=\"bound\">&gt; 2x</td><td class=\"drawing\"><svg></svg></td>"));
  CHECK_FALSE(has(page, "why"));
}

TEST_CASE("a table aligns labels left and values right") {
  CHECK(tableText({{{"gpus", Kind::Label}, {"1", "16"}}, {{"time"}, {"41.2 ms", "9 µs"}}, {{"size"}, {"5", "123456"}}},
                  80) ==
        "gpus     time    size\n"
        "1     41.2 ms       5\n"
        "16       9 µs  123456\n");
}

TEST_CASE("a table that is too wide is cut between columns, with its labels in each part") {
  const std::vector<std::pair<Column, std::vector<std::string>>> columns = {
      {{"gpus", Kind::Label}, {"1"}}, {{"fp64"}, {"aaaaaaaa"}}, {{"fp32"}, {"bbbbbbbb"}}, {{"bf16"}, {"cccccccc"}}};
  CHECK(tableText(columns, 26) ==
        "gpus      fp64      fp32\n"
        "1     aaaaaaaa  bbbbbbbb\n"
        "\n"
        "gpus      bf16\n"
        "1     cccccccc\n");
  CHECK(tableText(columns, 23).starts_with("gpus      fp64\n"));
  CHECK(tableText(columns, 24).starts_with("gpus      fp64      fp32\n"));
  // A terminal narrower than any column gets one column in each part, and rendering ends.
  CHECK(has(tableText(columns, 1), "cccccccc"));
}

TEST_CASE("prose in the last column is wrapped") {
  CHECK(tableText({{{"a", Kind::Label}, {"1"}},
                   {{"why", Kind::Prose}, {"some words that take more than the room there is here"}}},
                  30) ==
        "a  why\n"
        "1  some words that take more\n"
        "   than the room there is here\n");
}

TEST_CASE("prose that does not fit beside the other columns has a part for itself, of the rows that have some") {
  CHECK(tableText({{{"point", Kind::Label}, {"a", "b"}},
                   {{"estimate"}, {"1.23x [1.00x, 1.50x]", "4.56x [1.00x, 9.50x]"}},
                   {{"why", Kind::Prose}, {"", "does not decide the bound"}}},
                  40) ==
        "point              estimate\n"
        "a      1.23x [1.00x, 1.50x]\n"
        "b      4.56x [1.00x, 9.50x]\n"
        "\n"
        "point  why\n"
        "b      does not decide the bound\n");
}

TEST_CASE("what does not fit beside its value stands below it") {
  Table table = example();
  table.rows[0].cells[2].below = {std::string(30, '1')};
  CHECK(has(text(table, 55), "1.5x  because\n                111111"));
}

TEST_CASE("a table says how many of its rows are not shown") {
  Table table = example();
  table.rows.assign(kMostRows, table.rows[0]);
  table.all = 700;
  table.one_row = "cell";
  CHECK(has(text(table), "… and 660 more; the page has all\n"));
  CHECK(has(pageMarkup(table), "The first 500 of 700 cells; the data at the end of the page has all."));
  table.most = 3;
  table.rest = "";
  CHECK(has(text(table), "… and 697 more\n"));
}

TEST_CASE("the levels of a factor have its name above them, or in front") {
  Table table{.label = "", .columns = {{"gpus", Kind::Label}, {"fp64"}}, .over = "precision"};
  table.rows.push_back({{{"1"}, {"2 ms"}}});
  CHECK(has(text(table), "gpus  precision=fp64"));
  CHECK(has(pageMarkup(table), "data-label=\"precision=fp64\""));
  CHECK(has(pageMarkup(table),
            "<tr><td colspan=\"1\"></td><th scope=\"colgroup\" class=\"num\" colspan=\"1\">precision</th>"));
}

TEST_CASE("parts have a heading, and inside of one a line") {
  const Part inner{.title = "inner", .rest = "rest", .blocks = {Paragraph{"said"}}};
  const Part part{
      .title = "outer",
      .law = "a = b",
      .rest = "of all",
      .blocks = {inner, Paragraph{.text = "drawn", .shown = Shown::OnPage},
                 Paragraph{.text = "may be noise", .word = "caution:", .style = "open"}, Figures{"<figure></figure>"},
                 Paragraph{.text = "such as 1", .depth = 1},
                 Part{.title = "more", .blocks = {Paragraph{"rest"}}, .folded = true, .titled_on_page = true}}};
  CHECK(text(part) ==
        "\nouter  a = b; of all\n"
        "  inner: rest\n"
        "    said\n"
        "  caution: may be noise\n"
        "      such as 1\n"
        "  rest\n");
  const std::string page = pageMarkup(part);
  CHECK(has(page, "<h3>outer</h3><p class=\"law\"><code>a = b</code></p><p class=\"quiet\">of all</p>"));
  CHECK(has(page, "<p class=\"caution\"><b>Caution:</b> may be noise.</p><figure></figure>"));
  CHECK(has(page, "<details><summary>more</summary><p class=\"quiet\">rest</p></details>"));
  CHECK(has(page, "drawn"));
  CHECK(text(Part{.title = "empty"}) == "\nempty\n  nothing to show\n");
}

TEST_CASE("sentences that have a log open on the page") {
  const Part part{.title = "Lost",
                  .rest = "2 of 3",
                  .blocks = {Paragraph{.text = "one\033", .log = "boom </pre>"}, Paragraph{.text = "two", .log = ""},
                             Paragraph{"… and 7 more"}}};
  CHECK(text(part) == "\nLost  2 of 3\n  one\\x1b\n  two\n  … and 7 more\n");
  const std::string page = pageMarkup(part);
  CHECK(has(page, "<summary>one\\x1b</summary><pre>boom &lt;/pre&gt;</pre>"));
  CHECK(has(page, "<summary>two</summary><p class=\"quiet\">It wrote no log.</p>"));
  CHECK(has(page, "<p class=\"quiet\">… and 7 more</p>"));
  CHECK(has(pageMarkup(Part{.title = "Notes", .rest = "of trials", .blocks = {Paragraph{"a `b`"}}, .folded = true}),
            "<summary>Notes: of trials</summary><p class=\"quiet\">a <code>b</code></p>"));
}

TEST_CASE("facts stand behind what they are of, and a verdict's part has its badges") {
  const Facts facts{{{"result", "2x", "result"}, {"confidence", "n=1", "warns"}, {"where", "a<b>", "", true}}, "said"};
  CHECK(text(facts) == "result       2x\nconfidence   n=1\nwhere        a<b>\n");
  const std::string page =
      pageMarkup(Part{.title = "fast", .blocks = {facts}, .badges = {{"pass", "✓", "PASS"}, {"open", "!", "n=1"}}});
  CHECK(has(page, "<article class=\"claim pass\" id=\"claim-fast\"><header><span class=\"badge pass\">"));
  CHECK(has(page, "</span> n=1</span><h3>fast</h3></header><dl class=\"said\">"));
  CHECK(has(page, "<dt>confidence</dt><dd class=\"warns\">n=1</dd>"));
  CHECK(has(page, "<dt>where</dt><dd><code>"));
}

TEST_CASE("of many the first few are named, and one more where that is all") {
  CHECK(fewOf({}, 2) == "");
  CHECK(fewOf({"a", "b", "c"}, 2) == "a, b, c");
  CHECK(fewOf({"a", "b", "c", "d"}, 2, "; ") == "a; b and 2 more");
  std::vector<Block> blocks = sentences({"a", "b", "c", "d"});
  shorten(blocks, 3);
  CHECK(blocks.size() == 4);
  shorten(blocks, 2, {.depth = 1}, " here");
  CHECK(documentText(blocks, 80, false) == "a\nb\n    … and 2 more here\n");
}
