#include "crope/serve/api_error.h"

#include <exception>
#include <new>

namespace crope::serve {
namespace {

const char* error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 404:
    case 405:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 503:
      return "service_unavailable_error";
    case 504:
      return "timeout_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

}  // namespace

Json error_json(const ApiError& error) {
  return {{"error",
           {{"message", error.what()},
            {"type", error_type(error.status())},
            {"param", error.param().empty() ? Json() : Json(error.param())},
            {"code", error.code().empty() ? Json() : Json(error.code())}}}};
}

ApiError describe_exception(std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const ApiError& e) {
    return e;
  } catch (const Error& e) {
    return ApiError(400, e.hint().empty() ? std::string(e.what()) : std::string(e.what()) + " (" + e.hint() + ")");
  } catch (const std::bad_alloc&) {
    return ApiError(503, "the server has no memory left for this request");
  } catch (...) {
    return ApiError(500, "the server failed to answer this request");
  }
}

std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace crope::serve
