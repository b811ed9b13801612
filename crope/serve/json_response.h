// Answers whose body is JSON.
#pragma once

#include "crope/base/json.h"
#include "crope/serve/api_error.h"
#include "crope/serve/http_message.h"

namespace crope::serve {

HttpResponse json_response(const Json& json, int status = 200);

// The refusal with its headers: when to try again (429, 503), how to give a key (401).
HttpResponse error_response(const ApiError& error);

}  // namespace crope::serve
