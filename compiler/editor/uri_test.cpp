#include <doctest/doctest.h>

#include "compiler/editor/workspace.h"

using namespace expc::editor;

TEST_CASE("paths and URIs are each other's") {
  for (const char* path : {"/a/b.exp", "/with blank/#1%/ö.exp", "/a(1)/b+c=d.exp"}) CHECK(pathOf(uriOf(path)) == path);
  CHECK(uriOf("/with blank/ö#.exp") == "file:///with%20blank/%C3%B6%23.exp");
}

TEST_CASE("what is no file has no path") {
  CHECK(!pathOf("untitled:Untitled-1"));
  CHECK(!pathOf("file://"));
  CHECK(!pathOf(""));
  CHECK(!pathOf("file:///a%00b"));
}

TEST_CASE("other spellings of one path are one path") {
  CHECK(pathOf("file:///a/./b/../c.exp") == "/a/c.exp");
  CHECK(pathOf("file://localhost/a%2fc.exp") == "/a/c.exp");
  CHECK(pathOf("FILE:///a/c%2.exp") == "/a/c%2.exp");
}
