#include "runtime/worker/command/stacks.h"

#include <doctest/doctest.h>

using namespace expc::command;

TEST_CASE("the place of a Python process is the line of the program, and what it waits in") {
  CHECK(placeIn("Fatal Python error: Aborted\n\n"
                "Thread 0x00007f01 (most recent call first):\n"
                "  File \"/usr/lib/python3.11/threading.py\", line 9 in wait\n\n"
                "Current thread 0x00007f02 (most recent call first):\n"
                "  File \"/v/site-packages/torch/distributed/distributed_c10d.py\", line 2 in _work\n"
                "  File \"/v/site-packages/torch/distributed/distributed_c10d.py\", line 5 in all_reduce\n"
                "  File \"/v/site-packages/torch/distributed/c10d_logger.py\", line 8 in wrapper\n"
                "  File \"/t/train.py\", line 31 in step\n"
                "  File \"/t/train.py\", line 40 in <module>\n") == "train.py:31 in step, waiting in all_reduce");
  CHECK(placeIn("Current thread 0x1 (most recent call first):\n  File \"/t/a.py\", line 3 in <module>\n") == "a.py:3");
  CHECK(placeIn("Thread 0x1 [main] (most recent call first):\n"
                "  File \"<frozen runpy>\", line 1 in run\n"
                "  File \"/v/lib/python3.13/queue.py\", line 7 in get\n"
                "  File \"b.py\", line 2 in main\n") == "b.py:2 in main, waiting in get");
  CHECK(placeIn("Segmentation fault\n") == "");
}
