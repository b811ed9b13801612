// Documents to train on: stories, continuations, choices, problems and plain prose, in the very forms in which the
// benchmarks ask.
#pragma once

#include <cstdint>
#include <string>

#include "crope/data/world_problem.h"
#include "crope/data/world_story.h"

namespace crope::data {

// The document at place `index` of the training set of that seed, whatever the size of the set: one to several
// paragraphs, about 15 to 300 words.
std::string make_document(std::uint64_t seed, std::uint64_t index);

// "Mia went to the barn. ... Now Mia is"
std::string story_context(const Story& story, const Question& question);

// "Mia went to the barn. ... Where is Mia now?"
std::string story_question(const Story& story, const Question& question);

// "The following are multiple choice questions (with answers) about conceptual physics.\n\n"
std::string choice_heading(std::string_view subject);

// The question with its four choices and "Answer:", and nothing after it.
std::string choice_prompt(const Story& story, const Question& question);

// "Question: ...\nAnswer:"
std::string problem_prompt(const Problem& problem);

}  // namespace crope::data
