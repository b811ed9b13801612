#include "crope/eval/dealt_items.h"

#include <cstdint>
#include <string>

namespace crope::eval {
namespace {

// CBOR rather than text: it has numbers that are not finite, and any bytes.
std::string encode_responses(const std::vector<std::vector<Response>>& tasks) {
  Json json = Json::array();
  for (const std::vector<Response>& responses : tasks) {
    Json list = Json::array();
    for (const Response& each : responses) list.push_back({each.log_likelihoods, each.is_greedy, each.text});
    json.push_back(std::move(list));
  }
  const std::vector<std::uint8_t> bytes = Json::to_cbor(json);
  return {bytes.begin(), bytes.end()};
}

Response decode_response(const Json& json) {
  return {.log_likelihoods = json.at(0).get<std::vector<double>>(),
          .is_greedy = json.at(1).get<std::vector<bool>>(),
          .text = json.at(2).get<std::string>()};
}

}  // namespace

std::vector<Task> own_items(std::span<const Task> tasks, const dist::ProcessGroup& group) {
  std::vector<Task> own(tasks.begin(), tasks.end());
  for (std::size_t t = 0; t < own.size(); ++t) {
    own[t].items.clear();
    for (auto i = static_cast<std::size_t>(group.rank()); i < tasks[t].items.size();
         i += static_cast<std::size_t>(group.size())) {
      own[t].items.push_back(tasks[t].items[i]);
    }
  }
  return own;
}

std::vector<std::vector<Response>> gather_responses(std::span<const Task> tasks,
                                                    const std::vector<std::vector<Response>>& own,
                                                    dist::ProcessGroup& group) {
  const std::vector<std::string> texts = group.gather(encode_responses(own));
  std::vector<std::vector<Response>> all;
  for (const Task& task : tasks) all.emplace_back(task.items.size());
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const Json json = Json::from_cbor(texts[rank].begin(), texts[rank].end());
    for (std::size_t t = 0; t < all.size(); ++t) {
      for (std::size_t i = 0; i < json.at(t).size(); ++i) {
        all[t].at(rank + i * texts.size()) = decode_response(json.at(t).at(i));
      }
    }
  }
  return all;
}

}  // namespace crope::eval
