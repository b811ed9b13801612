// Examples before the question, drawn as lm_eval draws them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/eval/python_random.h"

namespace crope::eval {

// A worked example: its text in the prompt, and the answer.
struct Example {
  Json doc;
  std::string question;
  std::string answer;
};

enum class ExampleDraw {
  first,            // the first K of the pool, for every question the same (lm_eval's first_n)
  random,           // K of the pool anew for each question, one seed for all (lm_eval's default)
  random_but_self,  // the same, passing over the question itself should it be in the pool
};

// Draws the shots before each question. Call it in the order of the questions.
class FewShot {
 public:
  // `where` names the pool in messages. Throws Error if it holds fewer than `count` examples, one more where the
  // question itself may be among them.
  FewShot(std::vector<Example> pool, std::int64_t count, ExampleDraw rule, const std::string& where);

  // "question answer\n\n" for each shot before the question that `doc` is.
  std::string next(const Json& doc);

 private:
  std::vector<std::size_t> draw(const Json& doc);

  std::vector<Example> pool_;
  std::size_t count_;
  ExampleDraw rule_;
  PythonRandom random_;
};

}  // namespace crope::eval
