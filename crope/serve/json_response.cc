#include "crope/serve/json_response.h"

namespace crope::serve {

HttpResponse json_response(const Json& json, int status) {
  return {.status = status, .body = to_text(json)};
}

HttpResponse error_response(const ApiError& error) {
  HttpResponse response = json_response(error_json(error), error.status());
  if (error.status() == 429 || error.status() == 503) response.headers.emplace_back("Retry-After", "1");
  if (error.status() == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace crope::serve
