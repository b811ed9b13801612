// Short stories with questions: a story binds four keys to four values, and a question asks for the value of one key.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crope/data/world_draw.h"

namespace crope::data {

inline constexpr std::size_t kChoices = 4;

struct Question {
  std::string text;                           // "Where is Mia now?"
  std::string plain_text;                     // the same in fewer words, for a lesson; empty: there are none fewer
  std::string key;                            // what it asks for, where a lesson names it: "colour"
  std::string stem;                           // "now Mia is": the same as a sentence that wants its end
  std::string plain_stem;                     // "Mia is": fit to be joined with "and" to another
  std::array<std::string, kChoices> choices;  // "in the kitchen", ...; all different
  std::size_t answer = 0;                     // place of the one that follows from the story
};

struct Story {
  std::string_view kind;      // "rooms"
  std::string_view activity;  // "Walking around"
  std::string_view subject;   // "miscellaneous"
  std::string text;           // whole sentences
  // With the same choices in the same order where `is_paired`, so that two of them can be asked at once.
  std::vector<Question> questions;
  bool is_paired = false;
  // The choices are labels, box A to box D, and stay in that order: question i has its answer at place i.
  bool is_ordered = false;
  Fingerprint fingerprint;
};

// The subjects that stories have, sorted. Each is one of MMLU's.
std::span<const std::string_view> story_subjects();

// What a story is drawn for.
struct StoryRequest {
  Side side = Side::training;     // of its fingerprint
  std::string_view subject = {};  // empty: any
};

Story draw_story(const StoryRequest& request, RandomStream& random);

// The same, but about sorting words (world_sorting.h), and about what words name (world_naming.h).
Story draw_sorting_story(const StoryRequest& request, RandomStream& random);
Story draw_naming_story(const StoryRequest& request, RandomStream& random);

// One of the story's questions with its answer at `place`.
Question draw_question(const Story& story, std::size_t place, RandomStream& random);

// Asks for two keys of a paired story in one sentence: "Mia is" "in the barn, and Tom is at the lake". The choices are
// made of the four values, each used once in each half.
Question draw_pair(const Story& story, RandomStream& random);

// Shuffles the choices so that the answer comes to `place`.
void place_answer(Question& question, std::size_t place, RandomStream& random);

}  // namespace crope::data
