// The server's own description, in the form of OpenAPI 3.1.
#pragma once

#include "crope/base/json.h"
#include "crope/model/config.h"

namespace crope::serve {

Json openapi_description(const model::ModelConfig& config, bool needs_key);

}  // namespace crope::serve
