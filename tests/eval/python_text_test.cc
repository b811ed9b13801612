#include "crope/eval/python_text.h"

#include <gtest/gtest.h>

namespace crope::eval {
namespace {

// What CPython 3.11 gives.
TEST(PythonText, CapitalizeAndLowerBeyondAscii) {
  const struct {
    const char *text, *capitalized, *lowered;
  } cases[] = {
      {"", "", ""},
      {"hELLO World", "Hello world", "hello world"},
      {"éCOLE", "École", "école"},
      {"ßtraße", "Sstraße", "ßtraße"},
      {"ǆungla", "ǅungla", "ǆungla"},
      {"ﬁRST", "First", "ﬁrst"},
      {"ŉA", "ʼNa", "ŉa"},
      {"ΌΔΟΣ", "Όδος", "όδος"},
      {"aΣ", "Aς", "aς"},
      {"AΣ'B", "Aσ'b", "aσ'b"},
      {"AΣ.", "Aς.", "aς."},
      {"İI", "İi", "i̇i"},
      {"中文ABC", "中文abc", "中文abc"},
      {"ΣΑΣ Σ", "Σας σ", "σας σ"},
      {"1ABC", "1abc", "1abc"},
      {"ᾳX", "ᾼx", "ᾳx"},
      {"aΣ\u0301", "Aς\u0301", "aς\u0301"},
  };
  for (const auto& [text, capitalized, lowered] : cases) {
    EXPECT_EQ(capitalize(text), capitalized);
    EXPECT_EQ(lower(text), lowered);
  }
}

TEST(PythonText, StripTakesEveryWhiteSpace) {
  EXPECT_EQ(strip(" \t\u00a0\u3000x y\u2003\n\x1f"), "x y");
  EXPECT_EQ(strip_right(" x\u200b "), " x\u200b");  // zero width space is no white space
  EXPECT_EQ(strip(" \n "), "");
  EXPECT_EQ(strip(""), "");
}

TEST(PythonText, ReplaceIsOnePass) {
  EXPECT_EQ(replace_all("a    b", "  ", " "), "a  b");
  EXPECT_EQ(replace_all("aaa", "aa", "a"), "aa");
  EXPECT_EQ(replace_all("", "x", "y"), "");
}

TEST(PythonText, CountsCharactersAndWords) {
  EXPECT_EQ(character_count("naïve 中文 😀"), 10u);
  EXPECT_EQ(word_count("two words"), 2u);
  EXPECT_EQ(word_count(" both  ends\n"), 4u);
  EXPECT_EQ(word_count(""), 1u);
}

TEST(PythonText, FloatsReadAsPythonWritesThem) {
  EXPECT_EQ(float_text(-12), "-12.0");
  EXPECT_EQ(float_text(0.1), "0.1");
  EXPECT_EQ(float_text(1e-5), "1e-05");
  EXPECT_EQ(float_text(1e-4), "0.0001");
  EXPECT_EQ(float_text(1e16), "1e+16");
  EXPECT_EQ(float_text(9999999999999998.0), "9999999999999998.0");
  EXPECT_EQ(float_text(-3.5e-7), "-3.5e-07");
}

}  // namespace
}  // namespace crope::eval
