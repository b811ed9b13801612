#include "crope/serve/openapi.h"

#include <gtest/gtest.h>

#include <limits>

#include "crope/serve/api_error.h"
#include "crope/serve/openai_request.h"
#include "tests/serve/served_model.h"

namespace crope::serve {
namespace {

TEST(OpenApi, EveryPathIsAnsweredAndEveryReferenceIsThere) {
  const model::LanguageModel model = test::served_model();
  Api api(model, {});
  ServedFacts facts{.config = model.model.config, .tokenizer_size = 7, .max_choices = 5};
  const Json description = openapi_description(facts);
  EXPECT_GE(description["paths"].size(), 13u);
  for (const auto& [path, operations] : description["paths"].items()) {
    for (const auto& [method, operation] : operations.items()) {
      const HttpResponse response =
          api.answer({.method = method == "get" ? "GET" : "POST", .path = path, .body = "{}"});
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
  facts.needs_key = true;
  const Json locked = openapi_description(facts);
  EXPECT_TRUE(locked.contains("security"));
  Api guarded(model, {.key = ApiKey("s3cret")});
  for (const auto& [path, operations] : locked["paths"].items()) {
    for (const auto& [method, operation] : operations.items()) {
      const HttpResponse response = guarded.answer({.method = method == "get" ? "GET" : "POST", .path = path});
      EXPECT_EQ(response.status == 401, !operation.contains("security")) << path;
      const HttpResponse other = guarded.answer({.method = "DELETE", .path = path});
      EXPECT_EQ(other.status, operation.contains("security") ? 405 : 401) << path;
    }
  }
}

// Of a field of a request that may also be null.
Json range_of(const Json& description, const char* schema, const char* field) {
  const Json& values = description["components"]["schemas"][schema]["properties"][field]["anyOf"][0];
  return {values["minimum"], values["maximum"]};
}

TEST(OpenApi, FieldsHaveTheLimitsOfTheRequestsThatAreTaken) {
  const model::LanguageModel model = test::served_model();
  const ServedFacts facts{.config = model.model.config, .tokenizer_size = 7, .max_choices = 5};
  const Json description = openapi_description(facts);
  const RequestContext context{.vocab_size = facts.config.vocab_size,
                               .window = facts.config.max_seq_len,
                               .tokenizer = nullptr,
                               .begin_token = std::nullopt,
                               .max_choices = facts.max_choices};
  for (const char* field :
       {"n", "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "seed", "max_tokens", "logprobs"}) {
    const Json range = range_of(description, "CompletionRequest", field);
    for (const Json& value : range) {
      EXPECT_NO_THROW(completion_request({{"prompt", {1}}, {field, value}}, context)) << field << value;
    }
    if (range[0] > std::numeric_limits<std::int64_t>::min()) {
      EXPECT_THROW(completion_request({{"prompt", {1}}, {field, range[0].get<double>() - 1}}, context), ApiError)
          << field;
    }
    const Json above =
        range[1].is_number_float() ? Json(range[1].get<double>() + 1) : Json(range[1].get<std::uint64_t>() + 1);
    EXPECT_THROW(completion_request({{"prompt", {1}}, {field, above}}, context), ApiError) << field;
  }
}

}  // namespace
}  // namespace crope::serve
