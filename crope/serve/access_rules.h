// Which sites may talk to the server: checks of the Host and Origin headers.
//
// A web page from anywhere can send requests to a server on the visitor's own machine, and after DNS rebinding read the
// answers under its own host name. Browsers always send Host, and Origin with a request from another site; a program
// that sends neither is trusted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crope::serve {

struct AccessRules {
  bool are_checked = false;          // false: every Host and Origin is accepted
  std::vector<std::string> hosts;    // accepted beside localhost and IP addresses, without a port
  std::vector<std::string> origins;  // accepted beside pages of accepted hosts: "https://example.org"
};

// `host` is the header, with or without a port; "" if there is none.
bool allows_host(const AccessRules& rules, std::string_view host);

// Accepts a page of the host that the request itself names, of localhost or a loopback address, of one of `hosts`, and
// the origins listed. `origin` is the header, "" if there is none; "null" is refused.
bool allows_origin(const AccessRules& rules, std::string_view origin, std::string_view host);

// Whether the answer needs a CORS header: pages of this origin may then read it.
bool is_listed_origin(const AccessRules& rules, std::string_view origin);

}  // namespace crope::serve
