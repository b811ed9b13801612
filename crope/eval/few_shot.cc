#include "crope/eval/few_shot.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "crope/base/error.h"
#include "crope/eval/task.h"

namespace crope::eval {
namespace {

constexpr std::uint32_t kFewShotSeed = 1234;
constexpr const char* kFewShotDelimiter = "\n\n";

}  // namespace

FewShot::FewShot(std::vector<Example> pool, std::int64_t count, ExampleDraw rule, const std::string& where)
    : pool_(std::move(pool)), count_(static_cast<std::size_t>(count)), rule_(rule), random_(kFewShotSeed) {
  const std::size_t needed = count_ + (count_ > 0 && rule == ExampleDraw::random_but_self);
  if (pool_.size() < needed) {
    throw Error(
        fmt::format("{}: {} examples, but {} are needed for num_fewshot = {}", where, pool_.size(), needed, count));
  }
}

std::vector<std::size_t> FewShot::draw(const Json& doc) {
  if (rule_ == ExampleDraw::random) return random_.sample(pool_.size(), count_);
  if (rule_ == ExampleDraw::first) {
    std::vector<std::size_t> first(count_);
    std::iota(first.begin(), first.end(), std::size_t{0});
    return first;
  }
  // One more than needed, so that the question can be left out. A pool that holds it more than once may then give too
  // few: the draw is repeated from the others.
  std::vector<std::size_t> drawn = random_.sample(pool_.size(), count_ + 1);
  std::erase_if(drawn, [&](std::size_t i) { return pool_[i].doc == doc; });
  if (drawn.size() >= count_) {
    drawn.resize(count_);
    return drawn;
  }
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < pool_.size(); ++i) {
    if (pool_[i].doc != doc) others.push_back(i);
  }
  if (others.size() < count_) throw Error("too few few-shot examples besides the question itself");
  drawn = random_.sample(others.size(), count_);
  for (std::size_t& i : drawn) i = others[i];
  return drawn;
}

std::string FewShot::next(const Json& doc) {
  std::string text;
  if (count_ == 0) return text;
  for (const std::size_t i : draw(doc)) {
    text += pool_[i].question + kTargetDelimiter + pool_[i].answer + kFewShotDelimiter;
  }
  return text;
}

}  // namespace crope::eval
