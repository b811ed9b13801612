#include "crope/serve/access_rules.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace crope::serve {
namespace {

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return result;
}

// "Name:80" to "name", "[::1]:80" to "::1".
std::string host_name(std::string_view host) {
  if (host.starts_with('[')) return lower_case(host.substr(1, host.find(']') - 1));
  return lower_case(host.substr(0, host.find(':')));
}

bool is_address(const std::string& name) {
  std::array<unsigned char, 16> ignored;
  return ::inet_pton(AF_INET, name.c_str(), ignored.data()) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), ignored.data()) == 1;
}

bool is_this_machine(const std::string& name) {
  return name == "localhost" || name.ends_with(".localhost") || name == "::1" ||
         (name.starts_with("127.") && is_address(name));
}

bool is_listed_host(const AccessRules& rules, const std::string& name) {
  return std::ranges::any_of(rules.hosts, [&](const std::string& host) { return host_name(host) == name; });
}

}  // namespace

bool allows_host(const AccessRules& rules, std::string_view host) {
  if (!rules.are_checked || host.empty()) return true;
  const std::string name = host_name(host);
  return is_this_machine(name) || is_address(name) || is_listed_host(rules, name);
}

bool is_listed_origin(const AccessRules& rules, std::string_view origin) {
  const std::string wanted = lower_case(origin);
  return std::ranges::any_of(rules.origins, [&](const std::string& each) { return lower_case(each) == wanted; });
}

bool allows_origin(const AccessRules& rules, std::string_view origin, std::string_view host) {
  if (!rules.are_checked || origin.empty() || is_listed_origin(rules, origin)) return true;
  const std::size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return false;
  const std::string name = host_name(origin.substr(scheme + 3));
  return is_this_machine(name) || is_listed_host(rules, name) || (!host.empty() && name == host_name(host));
}

}  // namespace crope::serve
