#include "runtime/report/html_text.h"

#include <doctest/doctest.h>

#include "runtime/base/json.h"

using namespace expc::report;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

TEST_CASE("markup in text stays text") {
  CHECK(html("<script>alert('1') & \"2\"</script>") ==
        "&lt;script&gt;alert(&#39;1&#39;) &amp; &quot;2&quot;&lt;/script&gt;");
  CHECK(html("a\nb\t\033[31m\xff") == "a\nb \\x1b[31m\xef\xbf\xbd");
  CHECK(scriptSafe("[\"\xc2\x9b<\u202e\"]") == "[\"\\u009b\\u003c\\u202e\"]");
}

TEST_CASE("backticks are code, alone they are themselves") {
  CHECK(htmlProse("run `a<b` now") == "run <code>a&lt;b</code> now");
  CHECK(htmlProse("one ` only") == "one ` only");
  CHECK(htmlProse("`a` and ` b") == "<code>a</code> and ` b");
}

TEST_CASE("JSON in a script cannot end it") {
  const Value value = Object{{"</script><!--", Array{"</script>", "a & b", ">"}}};
  const std::string text = scriptSafe(expc::base::canonicalJson(value));
  CHECK(text.find('<') == std::string::npos);
  CHECK(text.find('>') == std::string::npos);
  CHECK(text.find('&') == std::string::npos);
  CHECK(llvm::cantFail(expc::base::parseJson(text)) == value);
}

TEST_CASE("a library in a script cannot end it") {
  CHECK(scriptText("a='</script>';b='<!--x</script'") == "a='<\\/script>';b='<\\!--x<\\/script'");
}
