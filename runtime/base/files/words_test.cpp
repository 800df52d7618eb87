#include "runtime/base/files/words.h"

#include <doctest/doctest.h>

#include <string>

using expc::files::errorLine;
using expc::files::excerpt;

TEST_CASE("an excerpt is one printable line") {
  CHECK(excerpt("a\x1b[31m\xff", 10) == "a\\x1b[31m\xef\xbf\xbd");
  CHECK(excerpt("\xe2\x80\x98sortt\xe2\x80\x99", 40) == "\xe2\x80\x98sortt\xe2\x80\x99");
  CHECK(excerpt(std::string(200, 'x')).size() == 123);
}

TEST_CASE("no excerpt is cut inside a character") {
  const std::string euro = "\xe2\x82\xac", text = euro + euro + euro;
  for (size_t most = 3; most < text.size(); ++most) {
    const std::string whole = text.substr(0, most / 3 * 3);
    CHECK_MESSAGE(excerpt(text, most) == whole + "...", most);
  }
  CHECK(excerpt("\x80\x80\x80\x80\x80", 4).find("...") != std::string::npos);  // none at all
}

TEST_CASE("without an error the last line with a letter or digit is why a program failed") {
  CHECK(errorLine("one\ntwo\r\n\n  \n") == "two");
  CHECK(errorLine("\n\n").empty());
  CHECK(errorLine("").empty());
  CHECK(errorLine("=====\n-----\n\xe2\x95\xb0\xe2\x94\x80\xe2\x95\xaf\n").empty());
  CHECK(errorLine("50%\r100%") == "100%");
  CHECK(errorLine("loss is nan\n----------\n ** \n") == "loss is nan");
  CHECK(errorLine("\xe2\x94\x82 Invalid value for --lr \xe2\x94\x82\n\xe2\x95\xb0\xe2\x94\x80\xe2\x95\xaf") ==
        "Invalid value for --lr");
  CHECK(errorLine("\xc3\x84\xc3\xb6\n\xe2\x80\xa6\n") == "\xc3\x84\xc3\xb6");
  CHECK(errorLine("Error\nvalidation error: 0.25\nerror: 0.5\nlast") == "last");
}

TEST_CASE("the error of a program stands before what launchers and test runners write behind it") {
  const std::string box = "\n" + std::string(60, '=') + "\nloop.py FAILED\n" + std::string(60, '-') +
                          "\n[0]:\n  rank : 1\n" + std::string(60, '=') + "\n";
  const auto seen = [&](const std::string& line, const std::string& wanted = "") {
    CHECK(errorLine("epoch 1\n" + line + box) == (wanted.empty() ? line : wanted));
  };
  seen("RuntimeError: loss became nan on rank 1");
  seen("[rank1]: torch.OutOfMemoryError: CUDA out of memory");
  seen("[1,3]<stderr>:ValueError: bad");
  seen("1: AssertionError");
  seen("E       AssertionError: assert 1 == 2");
  seen("FAILED tests/a.py::test_b - KeyError: 'x'");
  seen("\x1b[1;31mValueError\x1b[0m: bad", "ValueError: bad");
  seen("train.py: error: unrecognized arguments: --lr");
  seen("main.c:3:5: error: expected ';' before 'x'");
  seen("main.c:1:10: fatal error: x.h: No such file or directory");
  seen("error[E0308]: mismatched types");
  seen("ERROR: LoadError: boom");
  seen("panic: runtime error: index out of range");
  seen("  what():  boom", "what():  boom");
  seen("Exception in thread \"main\" java.lang.IllegalStateException: boom");
  seen("Caused by: java.io.IOException: gone");
  seen("2026-11-28 15:03:58 ERROR RuntimeError: late");
  seen("KeyboardInterrupt\n", "KeyboardInterrupt");
}

TEST_CASE("an exception of Python is found behind its traceback, whatever its name") {
  const std::string frame = "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n";
  const std::string ranked =
      "[rank1]: Traceback (most recent call last):\n[rank0]: x\n[rank1]:   File \"x.py\", line 1\n";
  CHECK(errorLine(frame + "__main__.Diverged: loss is nan\n====\nx.py FAILED\n====\n") ==
        "__main__.Diverged: loss is nan");
  CHECK(errorLine(ranked + "[rank1]: Diverged: loss is nan\nbye\n") == "[rank1]: Diverged: loss is nan");
  CHECK(errorLine(frame + "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n" +
                  frame + "Stop: b\n") == "Stop: b");
  CHECK(errorLine(frame + "Stop: b\nException ignored in: <function f>\n" + frame + "ImportError: late\n") ==
        "Stop: b");
  CHECK(errorLine("Traceback (most recent call last):\n") == "Traceback (most recent call last):");
  CHECK(errorLine("  Traceback (most recent call last)\n  \n ").starts_with("Traceback"));
}

TEST_CASE("a process that only lost another, or started it, does not say why") {
  const std::string cause = "ValueError: bad label\n";
  for (const char* other : {"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n",
                            "subprocess.CalledProcessError: Command 'x' returned non-zero exit status 1.\n",
                            "RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:1\n"})
    CHECK(errorLine(cause + other + "====\n") == "ValueError: bad label");
  CHECK(errorLine("x\nConnectionResetError: [Errno 104] Connection reset by peer\n").starts_with("ConnectionReset"));
}

TEST_CASE("any bytes have an error line") {
  std::string text;
  for (unsigned i = 0; i < 50'000; ++i) {
    text += char(i * 2654435761u >> 13);
    if (i % 97 == 0) (void)errorLine(text.substr(text.size() < 2'000 ? 0 : text.size() - 2'000));
  }
  CHECK(errorLine(std::string(1 << 16, ':')).empty());
  CHECK(errorLine(std::string(1 << 16, 'a')).size() == 203);
}
