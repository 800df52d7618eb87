#include "compiler/format/format.h"

#include <doctest/doctest.h>

#include "compiler/parse/parse.h"

using namespace expc;

namespace {

std::string formatted(const std::string& text) {
  source::SourceManager sources;
  diag::Collector said;
  diag::Emitter emitter(said);
  const auto file = parse::load(sources, "test.exp", text, emitter);
  REQUIRE(file);
  const auto out = format::format(sources, *file, emitter);
  if (!out) return "refused: " + (said.diagnostics.empty() ? "nothing said" : said.diagnostics.front().message);
  CHECK(said.diagnostics.empty());
  return *out;
}

/// Checks that `text` is formatted as `expected`, and that `expected` stays as it is.
void becomes(const std::string& text, const std::string& expected) {
  CHECK(formatted(text) == expected);
  CHECK(formatted(expected) == expected);
}

void stays(const std::string& text) { becomes(text, text); }

std::string inStudy(const std::string& lines) { return "study s {\n" + lines + "}\n"; }

std::string letters(size_t count) { return std::string(count, 'x'); }

}  // namespace

TEST_CASE("blanks between tokens") {
  becomes("let   a=1+2*-b", "let a = 1 + 2 * -b\n");
  becomes("let a = - - b", "let a = --b\n");
  becomes("let a=( b+c )*80GiB/e", "let a = (b + c) * 80GiB / e\n");
  becomes("let a = 1 .. 16 by * 2", "let a = 1..16 by *2\n");
  becomes("let a = {1,2 ,}", "let a = { 1, 2, }\n");
  becomes("let a = f ( x , y = 2 ) [ z=1 ]", "let a = f(x, y = 2)[z = 1]\n");
  becomes("let a = not b in{c}", "let a = not b in { c }\n");
  becomes("let a = system . gpus <=image.x", "let a = system.gpus <= image.x\n");
  becomes("import   std . image as  i", "import std.image as i\n");
  becomes("enum e{a(path),b(count:int in 1 ..)}", "enum e { a(path), b(count : int in 1..) }\n");
  becomes("workload w { param a:int in 1 ..=4 when b }", "workload w {\n  param a : int in 1.. = 4  when b\n}\n");
}

TEST_CASE("statements and clauses") {
  becomes("study s{workload w factor a in{1}baseline 1 measure t}",
          inStudy("  workload w\n  factor a in { 1 }  baseline 1\n  measure t\n"));
  becomes(inStudy("require a :b because \"c\""), inStudy("  require a: b  because \"c\"\n"));
  becomes(inStudy("criterion a :forall * :exists b where c :d>=1 with confidence 95%"),
          inStudy("  criterion a: forall *: exists b where c: d >= 1  with confidence 95%\n"));
  becomes(inStudy("design{repeat(3) seed -1}"), inStudy("  design { repeat (3)  seed -1 }\n"));
  becomes("study s { }  study t {\n\n}", "study s { }\nstudy t { }\n");
}

TEST_CASE("commands, systems and references") {
  becomes(
      "workload w command[\"a\",\"${b}\"]timeout 2h{inputs \"a\",\"b\" metric t:Time lower from regex(\"x\",unit=1ms)}",
      "workload w command [\"a\", \"${b}\"] timeout 2h {\n  inputs \"a\", \"b\"\n"
      "  metric t : Time lower  from regex(\"x\", unit = 1ms)\n}\n");
  becomes("workload w { estimate a=1 when b estimate abc=2B*c when d param e:list ( int )=[1,2] }",
          "workload w {\n  estimate a   = 1       when b\n  estimate abc = 2B * c  when d\n"
          "  param e : list(int) = [1, 2]\n}\n");
  becomes("workload w { let a=1 let abc=2 metric m:Time lower }",
          "workload w {\n  let a   = 1\n  let abc = 2\n  metric m : Time lower\n}\n");
  stays("workload w {\n  param n   : int = 1  with strong scaling when all > 0\n  param all : int = 0  when true\n}\n");
  stays("system box { gpus = 4  gpu.memory = 94GB }\n");
  stays("system box {\n  gpus       = 4\n  gpu.memory = 94GB\n}\n");
  stays("unit row\nunit krow  = 1000row\nunit dozen = 12\n");
  becomes("preset p { unit=3 only gpus in{1} }", "preset p { unit = 3  only gpus in { 1 } }\n");
  stays("reference r from \"a.csv\" { gpus  t = column(total) * 1s }\n");
  stays("reference r from \"a.csv\" {\n  gpus\n  time = column(total) * 1s\n}\n");
}

TEST_CASE("lockstep factors, records, comparisons") {
  becomes(inStudy("factor(a,b)in{(c,d)}baseline(c,d)"), inStudy("  factor (a, b) in { (c, d) }  baseline (c, d)\n"));
  becomes(inStudy("table t by(a,b),c plot g over(a,b)"), inStudy("  table t by (a, b), c\n  plot  g over (a, b)\n"));
  becomes(inStudy("criterion c:forall(a,b):x[(a,b)=(c,d)]??0 like t within 5%"),
          inStudy("  criterion c: forall (a, b): x[(a, b) = (c, d)] ?? 0 like t within 5%\n"));
  becomes("let a={rank=8,alpha=16}", "let a = { rank = 8, alpha = 16 }\n");
  becomes("workload w { param p:{rank:int,alpha:float} param q:(int,string) }",
          "workload w {\n  param p : { rank : int, alpha : float }\n  param q : (int, string)\n}\n");
  becomes(inStudy("compare cost=ratio(t)over m against lora partial control twice=[m=lora,n=1]"),
          inStudy("  compare cost  = ratio(t) over m against lora  partial\n  control twice = [m = lora, n = 1]\n"));
  becomes(inStudy("workload ours=image.x(a=1) workload theirs=y"),
          inStudy("  workload ours   = image.x(a = 1)\n  workload theirs = y\n"));
  becomes(inStudy("design{repeat 10..20 until half_width(g)<=1%}"),
          inStudy("  design { repeat 10..20 until half_width(g) <= 1% }\n"));
}

TEST_CASE("columns of neighbours are aligned") {
  becomes(inStudy("factor precision in { fp64, fp32 } baseline fp64\n"
                  "factor gpus in 1..4 baseline 1 when a\n"
                  "factor x in { 1 } when b\n"),
          inStudy("  factor precision in { fp64, fp32 }  baseline fp64\n"
                  "  factor gpus      in 1..4            baseline 1  when a\n"
                  "  factor x         in { 1 }           when b\n"));
  becomes(inStudy("compare gain = speedup(a) over b\ncompare scaling = f(a) over b against c\n"),
          inStudy("  compare gain    = speedup(a) over b\n  compare scaling = f(a)       over b against c\n"));
  becomes(inStudy("criterion a: x > 1 with confidence 95%\ncriterion abc: x >= 1000 with confidence 95%\n"),
          inStudy("  criterion a:   x > 1  with confidence 95%\n  criterion abc: x >= 1000  with confidence 95%\n"));
  becomes(inStudy("table step_time by a\nplot gain over b by c\ntable t by d\n"),
          inStudy("  table step_time by a\n  plot  gain over b by c\n  table t         by d\n"));
  becomes("workload w { metric a : Time lower\n metric abc : Images / Time higher }",
          "workload w {\n  metric a   : Time lower\n  metric abc : Images / Time higher\n}\n");
}

TEST_CASE("parts, their uses and expectations") {
  const std::string written =
      "part p {\n  param wanted : Ratio = 1.2x\n}\nstudy s {\n  use p\n  expected gain  = 1.5x  noise 8%\n"
      "  expected quick = 12s   noise 2%\n}\n";
  CHECK(formatted("part p { param wanted : Ratio=1.2x } study s { use p expected gain=1.5x noise 8% "
                  "expected quick=12s noise 2% }") == written);
}

TEST_CASE("a blank line, a comment or another kind of statement ends a run") {
  stays("let a = 1\n\nlet abc = 2\n// c\nlet abcdef = 3\nlet g      = 4\n");
  stays(inStudy("  let a = 1\n  measure b\n  let abc = 2\n"));
}

TEST_CASE("lines that alignment would make too long stay out") {
  const std::string wide = "factor " + letters(70) + " in { " + letters(20) + " }  baseline b\n";
  stays(
      inStudy("  factor a  in { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }  baseline 1\n"
              "  factor bc in { 1 }                              baseline 1  when " +
              letters(40) + "\n  " + wide));
}

TEST_CASE("rows of designs and presets stay as they are") {
  stays(
      inStudy("  design {\n    timed   { repeat 10  steps 300  warmup 30 }\n    quality { repeat 3   epochs 20 }\n"
              "    seed 7  budget 24h\n  }\n"));
  becomes(inStudy("design {\nrepeat 10\nsteps 300 }"), inStudy("  design {\n    repeat 10\n    steps  300\n  }\n"));
  stays(inStudy("  design { timed { repeat 3 }  seed 7 }\n"));
  becomes(
      inStudy("preset p { a = 1 b.c=2\n only d in {1}\n only efg in {1} design { seed 3 } }"),
      inStudy(
          "  preset p {\n    a = 1  b.c = 2\n    only d in { 1 }\n    only efg in { 1 }  design { seed 3 }\n  }\n"));
}

TEST_CASE("a block that is too long for its line has a statement a line") {
  const std::string a = letters(60), b = letters(50);
  becomes(inStudy("preset p { " + a + " = 1 " + b + " = 2 }"),
          inStudy("  preset p {\n    " + a + " = 1\n    " + b + std::string(10, ' ') + " = 2\n  }\n"));
}

TEST_CASE("long lists are broken at commas") {
  std::string set = "let a = { 1111111111", broken = "let a = {\n  1111111111";
  for (int at = 1; at < 12; ++at) {
    set += ", 1111111111";
    broken += at == 9 ? ",\n  1111111111" : ", 1111111111";
  }
  becomes(set + " }", broken + "\n}\n");
  // An inner list is opened only if it does not fit on a line of its own.
  const std::string inner = "f(" + letters(100) + ")";
  becomes("let a = g(" + letters(20) + ", " + inner + ")", "let a = g(\n  " + letters(20) + ",\n  " + inner + "\n)\n");
}

TEST_CASE("nothing goes on behind an item of several lines") {
  const std::string a = letters(70), b = letters(60);
  becomes("let a = g(f(" + a + ", " + b + "), b, c)",
          "let a = g(\n  f(\n    " + a + ",\n    " + b + "\n  ),\n  b, c\n)\n");
}

TEST_CASE("a list that the author opened stays open") {
  stays("enum e {\n  a, b,\n  c\n}\n");
  stays("let a = {\n  (1, 2),\n\n  // second\n  (3, 4)\n}\n");
  becomes("let a = { 1,\n2,\n3 }", "let a = { 1, 2, 3 }\n");
  becomes("let a = f({\n1})", "let a = f(\n  {\n    1\n  }\n)\n");
}

TEST_CASE("long statements are broken before clauses, 'and' and 'or'") {
  const std::string a = letters(60), b = letters(40);
  stays(inStudy("  require " + a + " > 1\n      and " + b + " < 2 or c > 1  because \"" + letters(20) + "\"\n"));
  becomes(inStudy("factor a in { " + a + " } baseline " + b + " when c == 1"),
          inStudy("  factor a in { " + a + " }\n      baseline " + b + "  when c == 1\n"));
  becomes(inStudy("measure " + a + ", " + b + ", " + letters(10) + ", c"),
          inStudy("  measure " + a + ", " + b + ",\n      " + letters(10) + ", c\n"));
  becomes("let a = " + a + " + f(" + b + ") * 2 - g(" + letters(10) + ") + 1",
          "let a = " + a + " + f(" + b + ") * 2\n    - g(" + letters(10) + ") + 1\n");
  // A line without a place to break stays long.
  stays("let a = \"" + letters(200) + "\"\n");
}

TEST_CASE("comments") {
  becomes("// a\n\n\n\n//b  \nlet a = 1// c\n  // d", "// a\n\n//b\nlet a = 1  // c\n// d\n");
  becomes("study s { // a\n// b\n }  // c\n", "study s {  // a\n  // b\n}  // c\n");
  becomes("let a = 1 // x\nlet abc = f(2) // y\n\nlet b = 1 // z\n",
          "let a   = 1     // x\nlet abc = f(2)  // y\n\nlet b = 1  // z\n");
  becomes("enum e { a, // x\n bcd // y\n }", "enum e {\n  a,   // x\n  bcd  // y\n}\n");
  becomes("let // a\n b = // c\n // d\n 1", "let      // a\n    b =  // c\n    // d\n    1\n");
  becomes("let a = f( // c\n)", "let a = f(  // c\n)\n");
  becomes("study s\n// a\n{ }", "study s\n    // a\n    { }\n");
  becomes("/// doc\nlet a = 1 /// late\n\nlet b = 2", "/// doc\nlet a = 1  /// late\n\nlet b = 2\n");
  becomes("", "");
  becomes("\n\n// only\n\n", "// only\n");
}

TEST_CASE("line ends and marks at the beginning") {
  becomes("\xEF\xBB\xBFlet a = 1\r\n\r\n\r\nlet b = 2\r// c\rlet c = 3", "let a = 1\n\nlet b = 2\n// c\nlet c = 3\n");
}

TEST_CASE("widths count characters, not bytes") {
  std::string umlauts;
  for (int at = 0; at < 50; ++at) umlauts += "ä";
  stays("let a = f(\"" + umlauts + "\", \"" + umlauts + "\")\n");
}

TEST_CASE("a file with syntax errors is refused") {
  CHECK(formatted("let a 1").starts_with("refused: expected '='"));
  CHECK(formatted("study s {").starts_with("refused: expected '}'"));
}

TEST_CASE("mistakes of meaning are none of its business") { becomes("let a=b.c(3parsec)", "let a = b.c(3parsec)\n"); }
