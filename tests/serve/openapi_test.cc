#include "crope/serve/openapi.h"

#include <gtest/gtest.h>

#include "tests/serve/served_model.h"

namespace crope::serve {
namespace {

TEST(OpenApi, EveryPathIsAnsweredAndEveryReferenceIsThere) {
  const LoadedModel model = test::served_model();
  Api api(model, {});
  const Json description = openapi_description(model.model.config, /*needs_key=*/false);
  EXPECT_GE(description["paths"].size(), 13u);
  for (const auto& [path, operations] : description["paths"].items()) {
    for (const auto& [method, operation] : operations.items()) {
      const HttpResponse response = api.answer({.method = method == "get" ? "GET" : "POST", .path = path, .body = "{}"});
      EXPECT_NE(response.status, 404) << path;
      EXPECT_NE(response.status, 405) << path;
      EXPECT_LT(response.status, 500) << path;
      EXPECT_TRUE(method != "get" || response.status == 200) << path;
      EXPECT_TRUE(operation["responses"].contains("200"));
    }
  }
  const std::string text = description.dump();
  const std::string mark = "#/components/schemas/";
  for (std::size_t place = text.find(mark); place != std::string::npos; place = text.find(mark, place + 1)) {
    const std::size_t begin = place + mark.size();
    EXPECT_TRUE(description["components"]["schemas"].contains(text.substr(begin, text.find('"', begin) - begin)));
  }
  EXPECT_FALSE(description.contains("security"));
  EXPECT_TRUE(openapi_description(model.model.config, /*needs_key=*/true).contains("security"));
}

}  // namespace
}  // namespace crope::serve
