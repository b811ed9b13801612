// Documents to train on, in the forms in which the benchmarks ask.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "crope/world/item.h"
#include "crope/world/problem.h"

namespace crope::world {

// Document `index` of the training set of that seed, whatever the size of the set: about 15 to 200 words.
std::string make_document(std::uint64_t seed, std::uint64_t index);

// "The following are multiple choice questions (with answers) about conceptual physics.\n\n"
std::string exam_heading(std::string_view subject);

// The context and the question with its four choices and "Answer:", and nothing after it.
std::string exam_prompt(const Item& item);

// "Question: ...\nAnswer:"
std::string problem_prompt(const Problem& problem);

}  // namespace crope::world
