#include "runtime/worker/command/readers.h"

#include <doctest/doctest.h>
#include <fmt/ranges.h>
#include <llvm/Support/MemoryBuffer.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/base/format.h"
#include "tests/support/folder.h"
#include "tests/support/text/has.h"

using namespace expc::command;

namespace {

/// A reader's result as text: its values, such as "1.5 nan -inf", or why it refused.
template <typename T>
std::string said(llvm::Expected<T> result) {
  if (!result) return llvm::toString(result.takeError());
  if constexpr (std::is_same_v<T, Values>)
    return fmt::format("{}", fmt::join(*result, " "));
  else if constexpr (requires { result->values; })
    return fmt::format("{}", fmt::join(result->values, " "));
  else if constexpr (requires { (*result)->getBuffer(); })
    return (*result)->getBuffer().str();
  else
    return fmt::format("{}", *result);
}
/// "yes", or why a check failed.
std::string said(llvm::Error error) { return error ? llvm::toString(std::move(error)) : "yes"; }

using expc::test::has;
using expc::test::TestFolder;

llvm::Expected<Values> match(const std::string& pattern, llvm::StringRef text, Which which = Which::Last) {
  auto compiled = Pattern::compile(pattern, Pattern::Use::Number);
  if (!compiled) return compiled.takeError();
  return compiled->read(text, which);
}

}  // namespace

TEST_CASE("a number is all of its text") {
  CHECK(said(readNumber(" 12.50\t")) == "12.5");
  CHECK(said(readNumber("+3")) == "3");
  CHECK(said(readNumber("-1.5e-3")) == "-0.0015");
  CHECK(said(readNumber(".5")) == "0.5");
  CHECK(said(readNumber("")) == "'' is not a number");
  CHECK(said(readNumber("12 ms")) == "'12 ms' is not a number");
  CHECK(said(readNumber("1,234")) == "'1,234' is not a number");
  CHECK(said(readNumber("0x10")) == "'0x10' is not a number");
  for (const char* none : {"nan", "NaN", "-nan", "inf", "+Inf", " -Infinity "})
    CHECK_FALSE(std::isfinite(llvm::cantFail(readNumber(none))));
  CHECK(said(readNumber("info")) == "'info' is not a number");
  CHECK(said(readNumber("1e999")) == "'1e999' is too large or too small for a number");
  CHECK(said(readNumber(std::string(500, 'x'))).size() < 200);
}

TEST_CASE("the last match counts, or all of them") {
  const char text[] = "step 12.5 ms\nnoise\nstep nan ms\r\nstep 7 ms\n";
  CHECK(said(match("step ([0-9.]+) ms", text)) == "7");
  CHECK(said(match("step ([0-9.]+) ms", text, Which::All)) == "12.5 nan 7");
  CHECK(said(match("^step (\\S+)", text)) == "7");
  CHECK(said(match("^([0-9]+)%$", "10%\r20%\r30%\r\ndone\r\n", Which::All)) == "10 20 30");
  CHECK(said(match("^step (\\S+)", text, Which::All)) == "12.5 nan 7");
  CHECK(said(match("loss ([0-9]+)", text)) == "the pattern 'loss ([0-9]+)' matches nothing");
  CHECK(said(match("x([0-9]+)", "")) == "the pattern 'x([0-9]+)' matches nothing");
  CHECK(said(match("step(?: (a))?", "step 7")) == "the pattern 'step(?: (a))?' matches, but its group matched nothing");
  CHECK(said(match("step(?: (a))?", text)) == "nan");
  CHECK(said(match("step ()", text)) ==
        "the pattern 'step ()' found something that is not a value: '' is not a number");
  // The search goes on behind an empty match.
  CHECK(said(match("(?:([0-9])|x)?", "1x2 3", Which::All)) == "1 2 3");
  CHECK(said(match("(?:([0-9])|x)*?", "1x2")) ==
        "the pattern '(?:([0-9])|x)*?' matches, but its group matched nothing");
}

TEST_CASE("nan and inf are values where the words of a pattern stand around them") {
  CHECK(said(match("loss ([0-9.]+)", "loss 2.3\nloss nan\n")) == "nan");
  CHECK(said(match("loss ([0-9.]+)", "loss nan\nloss 2.3\n")) == "2.3");
  CHECK(said(match("loss ([0-9.]+)", "loss NaN.\n")) == "nan");  // from the first step on
  CHECK(said(match("loss = ([0-9.]+),", "loss = 2.3, loss = -Infinity, x")) == "-inf");
  CHECK(said(match("loss:.*?([0-9.]+)", "loss: 2.3\nloss:  nan\n")) == "nan");
  CHECK(said(match("([0-9.]+) MB/s", "5 MB/s\ninf MB/s\n")) == "inf");
  CHECK(said(match("(?<loss>[0-9.]+) is the loss", "2 is the loss\nnan is the loss")) == "nan");
  CHECK(said(match("loss[[:alpha:](]* ([^]()\\n]+)$", "loss 2\nloss nan")) == "nan");
  // Parts of words do not count, and a pattern without words of its own finds none.
  CHECK(said(match("loss ([0-9.]+)", "loss 2.3\nloss nano\nloss information\nxloss.nan")) == "2.3");
  CHECK(said(match("^([0-9.]+)$", "2.3\nnan\n")) == "2.3");
  const auto left = [](const char* pattern, const char* text, Which which = Which::Last) {
    std::string words;
    llvm::cantFail(llvm::cantFail(Pattern::compile(pattern, Pattern::Use::Number)).read(text, which, &words));
    return words;
  };
  CHECK(left("loss ([0-9.]+)", "loss 2.3\nloss n/a\nloss none\n") == "loss n/a");
  CHECK(left("loss ([0-9.]+) at", "loss 2.3 at\nloss -3 at\n", Which::All) == "loss -3 at");
  CHECK(left("loss ([0-9.]+)", "loss n/a\nloss 2.3\n").empty());
  CHECK(left("loss ([0-9.]+)", "loss 2.3\nloss nan\n").empty());
}

TEST_CASE("a group that takes a part of a number has found none") {
  const auto part = [](const char* pattern, const char* text) {
    const std::string why = said(match(pattern, text));
    const size_t at = why.find("is a part of '"), end = why.find("': make");
    return at == std::string::npos ? why : why.substr(at + 14, end - at - 14);
  };
  CHECK(
      said(match("loss: ([0-9.]+)", "loss: 9.8e-05\n")) ==
      "the pattern 'loss: ([0-9.]+)' found '9.8', which is a part of '9.8e-05': make the group match the whole number");
  CHECK(part("([0-9.]+) rows/s", "rate 1,250.5 rows/s") == "1,250.5");
  CHECK(part("([0-9.]+) ms", "wall 12,5 ms") == "12,5");
  CHECK(part("wall ([0-9.]+)", "wall 12,5 ms") == "12,5");
  CHECK(part(".*([0-9]+)", "step 128") == "128");
  CHECK(part("([0-9]+) ms", "step 12.5 ms") == "12.5");
  CHECK(part("step ([0-9]+)", "step 12.5 ms") == "12.5");
  CHECK(part("loss.*?([0-9.]+)", "loss = -0.5") == "-0.5");
  CHECK(part("([0-9]+)$", "took .5") == ".5");
  CHECK(part("(-?[0-9]+)$", "took 1e-05") == "1e-05");
  CHECK(part("x ([0-9.]+)", "x 1.5D-07") == "1.5D-07");
  CHECK(part("n ([0-9]+)", "n 1_000_000") == "1_000_000");
  CHECK(part("n ([0-9]+)", "n 1'000") == "1'000");
  CHECK(part("([0-9.]+) s",
             "n 1\xe2\x80\xaf"
             "250.5 s") ==
        "1\xe2\x80\xaf"
        "250.5");
  CHECK(part("at ([0-9]+)", "at 0x1F") == "0x1F");
  CHECK(part("([0-9.]+)elapsed", "1:05.31elapsed") == "1:05.31");
  CHECK(part("took ([0-9.]+)", std::string("took 1.5\ntook 2.5e3").c_str()) == "2.5e3");

  // A number that merely stands beside another one is whole.
  CHECK(said(match("([0-9.]+)$", "10-20")) == "20");
  CHECK(said(match("x([0-9]+)", "640x480")) == "480");
  CHECK(said(match("([0-9.]+)ms", "took 9.8ms, e5")) == "9.8");
  CHECK(said(match("loss ([0-9.]+)", "loss 3, 4")) == "3");
  CHECK(said(match("took ([0-9.]+)", "took 5.")) == "5");
  CHECK(said(match("(\\S+)$", "loss -9.8e-05")) == "-9.8e-05");
  // A comma or colon in the pattern separates numbers; those in `{1,3}` and `(?:` do not count.
  CHECK(said(match("^[^,]*,([0-9.]+)", "1,2.5,3")) == "2.5");
  CHECK(said(match("step 3:([0-9]+)", "step 3:12")) == "12");
  CHECK(part("(?:took|wall) ([0-9]{1,3})", "wall 12,5") == "12,5");
  CHECK(part("(?:took|wall) ([0-9]{1,3})", "wall 12:05") == "12:05");
  // If only the last of several numbers counts, only that one must be whole.
  CHECK(said(match("([0-9.]+) ms", "1e5 ms 7 ms")) == "7");
  CHECK(has(said(match("([0-9.]+) ms", "1e5 ms 7 ms", Which::All)), "a part of '1e5'"));
}

TEST_CASE("a pattern that cannot work is refused before anything runs") {
  CHECK(said(match("step ([0-9.+ ms", "")) ==
        "the pattern 'step ([0-9.+ ms' is invalid at character 16: missing terminating ] for character class");
  CHECK(has(said(match("step [0-9]+", "")), "has 0 groups; it needs one"));
  CHECK(has(said(match("(a)(b)", "")), "has 2 groups"));
  CHECK(said(match("(?:a)(b)", "")) == "the pattern '(?:a)(b)' matches nothing");
}

TEST_CASE("a pattern that backtracks without end is given up") {
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = std::string(5000, 'a') + "!";
  CHECK(has(said(match("^(a+)+$", text)), "tries too many ways to match"));
  CHECK(has(said(match("(?:(?:a|aa)+)+([0-9])", text)), "tries too many ways to match"));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("bytes that are no text are passed over") {
  std::string text("\xff\xfe\0\x80step 4 ms\0\xc3", 15);
  CHECK(said(match("step ([0-9.]+) ms", text)) == "4");
}

TEST_CASE("a pattern reads characters, and bytes that are no UTF-8 as Latin-1") {
  const char pattern[] = "time: ([0-9.]+) [µμu]s$";
  for (const char* text :
       {"time: 12.5 us\n", "time: 12.5 \u00b5s\r\n", "time: 12.5 \u03bcs", "caf\xe9\ntime: 12.5 \xb5s\n"})
    CHECK(said(match(pattern, text)) == "12.5");
  CHECK(said(match("caf.: ([0-9]+)", "caf\xe9: 1 caf\u00e9: 2 \xff", Which::All)) == "1 2");
  CHECK(said(match("(?:([0-9])|\u00b5)?",
                   "1\u00b52\u00b5\u00b5"
                   "3",
                   Which::All)) == "1 2 3");
  CHECK(has(said(match("time: .*?([0-9.]+)",
                       "time: \u2212"
                       "12.5")),
            "a part of '\u2212"
            "12.5'"));
}

TEST_CASE("a JSON pointer leads to a number or an array of them") {
  const char text[] =
      R"({"api": {"launch": 12.5, "a/b": {"m~n": [1, 2, 3]}, "": 4}, "list": [{"x": 1}, {"x": 2}], "on": true})";
  const auto at = [&](const char* pointer) { return said(readJson(text, pointer)); };
  CHECK(at("/api/launch") == "12.5");
  CHECK(at("/api/a~1b/m~0n/1") == "2");
  CHECK(at("/api/") == "4");
  CHECK(at("/list/1/x") == "2");
  CHECK(said(readJson("3", "")) == "3");
  const auto array = llvm::cantFail(readJson(text, "/api/a~1b/m~0n"));
  CHECK(array.array);
  CHECK(array.values == Values{1, 2, 3});

  CHECK(at("/api/lunch") == "nothing at /api/lunch: /api is an object with , a/b, launch");
  CHECK(at("/nothing/at/all") == "nothing at /nothing/at/all: the document is an object with api, list, on");
  CHECK(at("/list/2/x") == "nothing at /list/2/x: /list is an array of 2");
  CHECK(at("/list/01/x") == "nothing at /list/01/x: /list is an array of 2");
  CHECK(at("/list/-") == "nothing at /list/-: /list is an array of 2");
  CHECK(at("/api/launch/x") == "nothing at /api/launch/x: /api/launch is 12.5");
  CHECK(at("/on") == "at /on is not a number but true");
  CHECK(at("/api") == "at /api is not a number but an object");
  CHECK(at("/list") == "at /list/0 is not a number but an object");
  CHECK(at("api") == "the JSON pointer 'api' does not start with a slash");
  CHECK(has(at("/a~2"), "write ~0 for a tilde"));
}

TEST_CASE("what is no JSON is an error, however deep or odd") {
  CHECK(has(said(readJson("", "/a")), "it is not valid JSON"));
  CHECK(has(said(readJson("{\"a\": 1", "/a")), "it is not valid JSON"));
  CHECK(has(said(readJson(std::string(1 << 20, '['), "/a")), "nested deeper"));
  CHECK(has(said(readJson("{\"a\": \"\xff\"}", "/a")), "it is not valid JSON"));
  const auto numbers = [](const char* text) { return said(readJson(text, "/a", Which::All)); };
  CHECK(numbers("{\"a\": NaN}") == "inf");  // a bare word, which no JSON has
  CHECK(numbers("{\"a\": [1, -Infinity, \"nan\", 2]}") == "1 -inf nan 2");
  CHECK(numbers("{\"a\": \"Infinity\"}") == "inf");
  CHECK(said(readJson("{\"a\": \"12 ms\"}", "/a")) == "at /a is not a number but the string '12 ms'");
  CHECK(said(readJson("{\"a\": []}", "/a")) == "the array at /a is empty");
  CHECK(said(readJson("{\"a\": null}", "/a")) == "at /a is not a number but null");
}

TEST_CASE("what programs write is read: a byte order mark, NaN elsewhere, a document a line, elements by name") {
  CHECK(said(readJson("\xef\xbb\xbf{\"a\": 5}", "/a")) == "5");
  CHECK(said(readJson(R"({"a": 5, "p": NaN, "r": [Infinity, -Infinity], "s": "NaN \" NaN"})", "/a")) == "5");
  const auto lines = llvm::cantFail(readJson("{\"a\": 1}\n\n{\"event\": \"saved\"}\n{\"a\": NaN, \"b\": 3}\n", "/b"));
  CHECK((lines.values == Values{3} && !lines.array));
  const char two[] = "{\"a\": 1}\n{\"a\": 2}\n";
  CHECK(said(readJson(two, "/a")) == "2");
  CHECK(said(readJson(two, "/a", Which::All)) == "1 2");
  CHECK(has(said(readJson("{\"a\": 1}\n{\"a\": 2}\n", "/b")), "nothing at /b"));
  CHECK(said(readJson(two, "/*/a")) == "1 2");
  CHECK(said(readJson(R"({"*": {"a": 3}})", "/*/a")) == "3");
  const char benchmarks[] =
      R"({"benchmarks": [{"name": "BM_a/8", "t": 1}, {"name": "BM_b", "t": 2}, {"name": "BM_b"}]})";
  CHECK(said(readJson(benchmarks, "/benchmarks/name=BM_a~18/t")) == "1");
  CHECK(said(readJson(benchmarks, "/benchmarks/name=BM_b/t")) == "2");
}

TEST_CASE("text before a document is passed over, and shown where there is none") {
  CHECK(said(readJson("started\n{\"a\": 2}\n", "/a")) == "2");
  CHECK(said(readJson("[INFO] \"x\"\nfio: pid=4, err=5\n{\n  \"a\": [1]\n}\n", "/a")) == "1");
  CHECK(said(readJson("# started on Sat\n\n{\"event\": \"a\", \"n\": 3}\n{\"event\": \"b\", \"n\": 4}\n",
                      "/event=a/n")) == "3");
  CHECK(said(readJson("fio: pid=4, err=5\nmore\n", "/a")) == "it is not JSON: it starts with 'fio: pid=4, err=5'");
  CHECK(has(said(readJson("warning: x\n{\"a\": 2\n", "/a")),
            "it starts with 'warning: x', and after that it is not valid JSON"));
  CHECK(has(said(readJson("warning: x\n{\"a\": 2}\nbye\n", "/a")), "; print the document alone, or to a file"));
}

TEST_CASE("a pointer selects by texts, numbers and truth values, in arrays and among lines, and takes all elements") {
  const char text[] = R"({"r": [{"n": 128, "on": true, "t": 1}, {"n": 1.5, "on": false, "t": 2}, {"n": "1.5", "t": 3},
                                 {"n": 9007199254740993, "t": 4}, {"n": null, "t": null}, {"other": 7}]})";
  const auto all = [&](const char* pointer) { return said(readJson(text, pointer, Which::All)); };
  CHECK(all("/r/n=128/t") == "1");
  CHECK(all("/r/n=128.0/t") == "1");
  CHECK(all("/r/on=false/t") == "2");
  CHECK(all("/r/n=9007199254740993/t") == "4");
  CHECK(has(said(readJson(text, "/r/n=9007199254740992/t")), "nothing at"));
  CHECK(all("/r/n=1.5/t") == "2 3");
  CHECK(llvm::cantFail(readJson(text, "/r/n=1.5/t", Which::All)).places == 2);
  CHECK(all("/r/n=1.5/on=false/t") == "2");
  CHECK(has(all("/r/*/t"), "at /r/*/t is not a number but null"));
  CHECK(all("/r/*/other") == "7");
  CHECK(said(readJson(text, "/r/*/none")) == "nothing at /r/*/none: /r/* is an object with n, on, t");
  CHECK(said(readJson(text, "/r/n=7/t")) == "nothing at /r/n=7/t: /r is an array of 6");
  CHECK(has(said(readJson(text, std::string(2000, '/'))), "more than 1000 parts"));
  const char lines[] = "{\"test\": \"pp\", \"t\": 5}\n{\"test\": \"tg\", \"t\": 6}\n";
  CHECK(said(readJson(lines, "/test=pp/t")) == "5");
  CHECK(said(readJson("{\"a\": \"12.5\"}", "/a")) == "12.5");
}

TEST_CASE("where no value stands is told from a mistake") {
  const auto none = [](llvm::Error error) {
    const bool is = error.isA<NoValue>();
    llvm::consumeError(std::move(error));
    return is;
  };
  CHECK(none(readJson("{\"a\": 1}", "/b").takeError()));
  CHECK(none(readJson("{\"a\": null}", "/a").takeError()));
  CHECK(none(readJson("{\"a\": \"N/A\"}", "/a").takeError()));
  CHECK_FALSE(none(readJson("{\"a\": \"fast\"}", "/a").takeError()));
  CHECK_FALSE(none(readJson("no JSON", "/a").takeError()));
  CHECK(none(match("([0-9.]+) Joules", "<not supported> Joules").takeError()));
  CHECK(none(match("^(.*) Joules", "<not supported> Joules").takeError()));
  CHECK_FALSE(none(match("^(.*) Joules", "1,5x Joules").takeError()));
  CHECK(none(readColumn("a,b\n,1\n", "a", Which::Last).takeError()));
  CHECK(none(readColumn("a,b\n[N/A],1\n", "a", Which::Last).takeError()));
  CHECK_FALSE(none(readColumn("a,b\n3,1\n", "c", Which::Last).takeError()));
}

TEST_CASE("matches, cells and elements are counted") {
  const auto times = [](const char* pattern, llvm::StringRef text) {
    return llvm::cantFail(llvm::cantFail(Pattern::compile(pattern, Pattern::Use::Match)).count(text));
  };
  CHECK(times("^OK", "OK\nOK\nfailed\nOK") == 3);
  CHECK(times("ERROR", "") == 0);
  CHECK(times("x*", "axx") == 3);  // also where it is empty: before "a", "xx", at the end
  CHECK(said(countColumn("a,b\n1,2\n,3\nx,4\n", "a")) == "2");
  CHECK(said(countJson(R"({"tests": [{}, {}, {}], "one": 1})", "/tests")) == "3");
  CHECK(said(countJson(R"({"tests": [{"ok": true}, {"ok": false}]})", "/tests/ok=true")) == "1");
  CHECK(said(countJson(R"({"tests": []})", "/none")) == "0");
}

TEST_CASE("a CSV column is found by its name") {
  const char text[] =
      "\xef\xbb\xbfstep, loss ,\"train, \"\"acc\"\"\"\r\n1,2.5,0.1\r\n2,,0.2\r\n\r\n3,nan,0.3\r\n4, 1.5 ,\r\n";
  CHECK(said(readColumn(text, "loss", Which::Last)) == "1.5");
  CHECK(said(readColumn(text, "step", Which::All)) == "1 2 3 4");
  CHECK(said(readColumn(text, "train, \"acc\"", Which::All)) == "0.1 0.2 0.3");
  CHECK(said(readColumn(text, "loss", Which::All)) == "2.5 nan 1.5");
  CHECK(said(readColumn(text, "gain", Which::Last)) ==
        "it has no column 'gain'; its first row has step, loss, train, \"acc\"");
  CHECK(
      said(readColumn("INFO: up\nn=3\nstep,loss\n1,2\n", "loss", Which::Last)) ==
      "it has no column 'loss'; its first row has INFO: up; line 3 has it: print the lines above to standard error, or "
      "the table to a file");
  CHECK(said(readColumn("a\n1\n2", "a", Which::Last)) == "2");  // no line end at the end
  CHECK(said(readColumn("\xef\xbb\xbf\"a\",\"b\"\n\"1\",\"2\"\n", "a", Which::Last)) == "1");
  // Excel separates cells by semicolons where the comma is the decimal mark; no cell has one here.
  // Also tabs.
  CHECK(said(readColumn("a;b\n1;2,5\n3;4\n", "a", Which::All)) == "1 3");
  CHECK(said(readColumn("a;b\n1;2,5\n", "b", Which::Last)) == "row 2 of the column 'b': '2,5' is not a number");
  CHECK(said(readColumn("a\tb\n1\t2\n", "b", Which::Last)) == "2");
}

TEST_CASE("what is no table is an error") {
  CHECK(said(readColumn("", "a", Which::Last)) == "it is empty");
  CHECK(said(readColumn("a,b\n", "a", Which::Last)) == "the column 'a' has no value");
  CHECK(said(readColumn("a,a\n1,2\n", "a", Which::Last)) == "it has two columns 'a'");
  CHECK(said(readColumn("a,b\n1,2\n3\n", "a", Which::Last)) == "row 3 has 1 cells, the first row has 2");
  CHECK(has(said(readColumn("a\n\"1\n", "a", Which::Last)), "is not CSV"));
  CHECK(has(said(readColumn("a\n1\"2\n", "a", Which::Last)), "row 2: it is not CSV: a quote is misplaced"));
  CHECK(has(said(readColumn(std::string(3 << 20, '\xff'), "a", Which::Last)), "it has no column 'a'"));
}

TEST_CASE("a pattern that only has to match needs no group") {
  const auto matches = [](const char* pattern, llvm::StringRef text) {
    auto compiled = Pattern::compile(pattern, Pattern::Use::Match);
    if (!compiled) return llvm::toString(compiled.takeError());
    return said(compiled->match(text));
  };
  CHECK(matches("^all [0-9]+ tests passed$", "start\nall 12 tests passed\n") == "yes");
  CHECK(matches("^(all) ([0-9]+) tests", "all 12 tests") == "yes");
  CHECK(matches("passed", "all 12 failed") == "the pattern 'passed' matches nothing");
}

TEST_CASE("a truth value stands at a JSON pointer") {
  const auto truth = [](const char* pointer) {
    return said(readTruth(R"({"ok": true, "bad": false, "n": 1})", pointer));
  };
  CHECK(truth("/ok") == "yes");
  CHECK(truth("/bad") == "at /bad is false, not true");
  CHECK(truth("/n") == "at /n is 1, not true");
  CHECK(has(truth("/none"), "nothing at /none"));
}

TEST_CASE("lines are numbers, the last that is not blank or all") {
  CHECK(said(readLines("loading\n 12.5 \r\n\n", Which::Last)) == "12.5");
  CHECK(said(readLines("1\n\n2\n3", Which::All)) == "1 2 3");
  CHECK(said(readLines("1\ndone\n", Which::Last)) == "its last line: 'done' is not a number");
  CHECK(said(readLines("loading\n1\n", Which::All)) == "'loading' is not a number");
  CHECK(said(readLines(" \n\n", Which::Last)) == "nothing was written");
}

TEST_CASE("a size is that of a file, or of all below a folder") {
  TestFolder folder;
  std::ofstream(folder / "some") << "12345";
  CHECK(said(readSize(folder / "some")) == "5");
  std::filesystem::create_directories(folder / "deep/er");
  std::ofstream(folder / "deep/er/more") << "123";
  std::filesystem::create_symlink("/etc/passwd", folder / "deep/link");
  CHECK(said(readSize(folder.path)) == "8");
  CHECK(said(readSize(folder / "deep")) == "3");
  CHECK(said(readSize(folder / "none")) == "the program did not write it");
}

TEST_CASE("two files are the same or differ from a line on") {
  TestFolder folder;
  const auto file = [&](const char* name, const char* text) {
    std::ofstream(folder / name) << text;
    return folder / name;
  };
  const auto compared = [](const std::string& path, const std::string& other) {
    return said(compareFiles(path, other, 100));
  };
  const std::string wanted = file("wanted", "a\nb\n"), out = file("out", "a\nb\n"), other = file("other", "a\nx\n");
  CHECK(compared(out, wanted) == "yes");
  CHECK(compared(other, wanted) == "it differs from line 2 on (4 bytes, 4 wanted)");
  CHECK(compared(folder / "none", wanted) == "the program did not write it");
  CHECK(has(compared(out, folder / "none"), "what it is compared with"));
}

TEST_CASE("a file is read if it is one") {
  TestFolder folder;
  std::ofstream(folder / "some") << "12";
  CHECK(said(readFile(folder / "some", 2)) == "12");
  CHECK(said(readFile(folder / "none", 2)) == "the program did not write it");
  CHECK(said(readFile(folder.path, 2)) == "it cannot be read: Is a directory");
  CHECK(said(readFile("/dev/zero", 2)) == "it is not a regular file");
  CHECK(said(readFile(folder / "some/more", 2)) == "it cannot be read: Not a directory");
  std::ofstream(folder / "some") << std::string(3 << 20, 'x');
  CHECK(said(readFile(folder / "some", 1 << 20)) == "it is too large: at most 1 MiB are read");
}

TEST_CASE("any bytes are read or refused, never worse") {
  std::mt19937 random(1);
  const std::string valid = "a,b\n1,2\n\"3\",4\n{\"a\": [1, 2.5, {\"b\": \"x\"}]}\nstep 12 ms\n";
  for (int round = 0; round < 20000; ++round) {
    std::string text = valid;
    for (uint32_t i = 0; i <= random() % 6; ++i) text[random() % text.size()] = char(random());
    text = text.substr(random() % text.size(), random() % text.size());
    llvm::consumeError(readJson(text, "/a/2").takeError());
    llvm::consumeError(readColumn(text, "a", Which::All).takeError());
    llvm::consumeError(match("([0-9]+)", text, Which::All).takeError());
    llvm::consumeError(readNumber(text).takeError());
  }
}
