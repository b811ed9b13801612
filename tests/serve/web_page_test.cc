#include "crope/serve/web_page.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

namespace crope::serve {
namespace {

TEST(WebPage, IsOneWholeDocument) {
  const std::string page(index_html());
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_NE(page.find("<style>"), std::string::npos);
  EXPECT_NE(page.find("<script>"), std::string::npos);
}

// Every stylesheet and script has been put in its place, and nothing is fetched from elsewhere.
TEST(WebPage, NeedsNoOtherFileAndNoNetwork) {
  const std::string page(index_html());
  EXPECT_FALSE(std::regex_search(page, std::regex("<script[^>]+src="))) << "a script outside the page";
  EXPECT_EQ(page.find("rel=\"stylesheet\""), std::string::npos);
  EXPECT_EQ(page.find("@import"), std::string::npos);
  std::string elsewhere = page;
  // The name of SVG's namespace looks like an address and is none.
  for (const std::string name = "http://www.w3.org/2000/svg"; elsewhere.find(name) != std::string::npos;) {
    elsewhere.erase(elsewhere.find(name), name.size());
  }
  EXPECT_EQ(elsewhere.find("http:"), std::string::npos);
  EXPECT_EQ(elsewhere.find("https:"), std::string::npos);
  EXPECT_NE(page.find("Content-Security-Policy"), std::string::npos);
}

}  // namespace
}  // namespace crope::serve
