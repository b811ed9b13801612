#include "crope/report/html_page.h"

#include <gtest/gtest.h>

namespace crope::report {
namespace {

TEST(HtmlPage, EverythingIsEscaped) {
  const std::string evil = "<script>alert('x')</script> & \"";
  const std::string html =
      html_page({.title = evil,
                 .lead = evil,
                 .sections = {{.id = "a\"b",
                               .title = evil,
                               .blocks = {Prose{evil}, Table{{evil}, {{evil}}, evil}, Listing{evil, evil}}},
                              {.id = "c", .title = "C"}},
                 .footer = evil});
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;"), std::string::npos);
}

TEST(HtmlPage, StandsAlone) {
  const std::string html =
      html_page({.title = "T", .sections = {{.id = "s", .title = "S", .blocks = {Prose{"one `code` two\n\nthree"}}}}});
  for (const char* outside : {"http:", "https:", "src=", "@import", "url("})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  EXPECT_NE(html.find("<p>one <code>code</code> two</p>\n<p>three</p>"), std::string::npos);
  EXPECT_NE(html.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_NE(html.find("@media print"), std::string::npos);
}

TEST(HtmlPage, ATableMayBeFoldedAway) {
  const std::string html = html_page(
      {.title = "T", .sections = {{.id = "s", .title = "S", .blocks = {Table{{"a"}, {{"b"}}, "", "All <runs>"}}}}});
  EXPECT_NE(html.find("<details><summary>All &lt;runs&gt;</summary><div class=\"wide\"><table>"), std::string::npos);
}

TEST(HtmlPage, ColumnsOfNumbersAreSetToTheRight) {
  const std::string html = html_page(
      {.title = "T",
       .sections = {{.id = "s",
                     .title = "S",
                     .blocks = {Table{{"name", "value"}, {{"rope", "1,024"}, {"crope", "0.50 ± 0.01"}}, ""}}}}});
  EXPECT_NE(html.find("<th class=\"n\">value</th>"), std::string::npos);
  EXPECT_NE(html.find("<th>name</th>"), std::string::npos);
}

}  // namespace
}  // namespace crope::report
