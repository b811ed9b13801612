#include "crope/data/document_source.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "tests/data/scratch_folder.h"

namespace crope::data {
namespace {

using Texts = std::vector<std::string>;

class DocumentSourceTest : public ScratchFolder {
 protected:
  // The documents, their pieces joined.
  Texts read(const Texts& names, const SourceOptions& options = {}) {
    DocumentSource source(find_sources(names, options.format), options);
    Texts documents;
    Piece piece;
    while (source.next(piece)) {
      EXPECT_FALSE(piece.text.empty());
      EXPECT_LE(piece.text.size(), kPieceBytes + 1);
      if (piece.starts_document) documents.emplace_back();
      documents.back() += piece.text;
    }
    counts_ = source.counts();
    EXPECT_EQ(source.consumed_bytes(), source.total_bytes());
    EXPECT_EQ(counts_.documents, documents.size());
    return documents;
  }

  std::string message_of(const Texts& names, const SourceOptions& options = {}) {
    try {
      read(names, options);
    } catch (const Error& e) {
      return e.what();
    }
    ADD_FAILURE() << "no Error";
    return {};
  }

  SourceCounts counts_;
};

TEST_F(DocumentSourceTest, ATextFileIsOneDocumentByteForByte) {
  for (const std::string text : {"one\n\ntwo\r\n three \n", "no end", "\n", "\r", "a\r", "\n\nx\n\n"}) {
    EXPECT_EQ(read({put("a.txt", text)}), Texts{text});
  }
  EXPECT_EQ(read({put("a.txt", "\xEF\xBB\xBFx\n")}), Texts{"x\n"});
  EXPECT_EQ(read({put("a.txt", "")}), Texts{});
}

TEST_F(DocumentSourceTest, EndOfTextLinesPartATextFile) {
  const std::string separator = "<|endoftext|>";
  EXPECT_EQ(read({put("a.txt", "one\ntwo\n" + separator + "\nthree\n")}), (Texts{"one\ntwo", "three\n"}));
  EXPECT_EQ(read({put("a.txt", "one\r\n" + separator + "\r\ntwo\r\n" + separator)}), (Texts{"one", "two"}));
  EXPECT_EQ(read({put("a.txt", separator + "\n" + separator + "\none\n" + separator + "\n")}), Texts{"one"});
  EXPECT_EQ(read({put("a.txt", "a " + separator + "\nb")}), (Texts{"a " + separator + "\nb"}));
  EXPECT_EQ(read({put("a.txt", "one\n\n" + separator + "\n\ntwo")}), (Texts{"one\n", "\ntwo"}));
}

TEST_F(DocumentSourceTest, BlankLinesPartDocumentsWhenAsked) {
  EXPECT_EQ(read({put("blank.txt", "one\n \t\ntwo\r\n\r\nthree\n")}, {.split_blank_lines = true}),
            (Texts{"one", "two", "three\n"}));
  EXPECT_EQ(read({put("a.txt", "\none\ntwo\n\n\nthree\n\n")}, {.split_blank_lines = true}),
            (Texts{"one\ntwo", "three"}));
}

TEST_F(DocumentSourceTest, LongLinesAndSeparatorsAtAnyPlaceOfTheBuffer) {
  const std::string separator = "\n<|endoftext|>\n";
  for (std::size_t length = (1 << 18) - 20; length < (1 << 18) + 3; ++length) {
    const std::string first(length, 'x');
    ASSERT_TRUE(read({put("a.txt", first + separator + "two")}) == (Texts{first, "two"})) << length;
    ASSERT_TRUE(read({put("a.txt", first + "\r\n<|endoftext|>\r\ntwo\r\n")}) == (Texts{first, "two\r\n"})) << length;
  }
}

TEST_F(DocumentSourceTest, LongDocumentsComeInPiecesCutBetweenWords) {
  std::string text;
  while (text.size() < 3 * kPieceBytes + 12345) text += "some words, and 3 more\n";
  EXPECT_TRUE(read({put("a.txt", text)}) == Texts{text});
  const std::string word(3 * kPieceBytes, 'x');
  EXPECT_TRUE(read({put("a.jsonl", "{\"text\": \"" + word + "\"}")}) == Texts{word});

  const std::string_view rest = std::string_view(text).substr(cut_point(text));
  EXPECT_EQ(rest.front(), ' ');
  EXPECT_TRUE(rest.starts_with(" words") || rest.starts_with(" more")) << rest.substr(0, 10);
  // Without spaces: between characters.
  std::string chinese = "x";
  while (chinese.size() < kPieceBytes + 10) chinese += "\u4e2d";
  EXPECT_EQ(chinese.substr(cut_point(chinese), 3), "\u4e2d");
}

TEST_F(DocumentSourceTest, RowsWithoutTextAreCounted) {
  const std::string path =
      put("a.jsonl", "{\"text\": \"one\"}\n{\"text\": null}\n{\"text\": \"\"}\n{\"text\": \"two\"}\n");
  EXPECT_EQ(read({path}), (Texts{"one", "two"}));
  EXPECT_EQ(counts_.nulls, 1u);
  EXPECT_EQ(counts_.empty, 1u);
  EXPECT_EQ(counts_.bytes, 6u);
}

TEST_F(DocumentSourceTest, ABadRowStopsUnlessSkipped) {
  const std::string path = put("a.jsonl", "{\"text\": \"one\"}\nrubbish\n{\"txet\": \"x\"}\n{\"text\": \"two\"}\n");
  EXPECT_NE(message_of({path}).find("a.jsonl:2: not valid JSON"), std::string::npos);
  EXPECT_EQ(read({path}, {.skip_bad_rows = true}), (Texts{"one", "two"}));
  EXPECT_EQ(counts_.bad_rows, 2u);
  EXPECT_NE(counts_.first_bad_row.find("a.jsonl:2"), std::string::npos);
}

TEST_F(DocumentSourceTest, FoldersAreReadInTheOrderOfTheirNames) {
  put("c/b.txt", "2");
  put("c/a.jsonl", "{\"text\": \"1\"}");
  put("c/d/e.txt", "4");
  put("c/c.txt", "3");
  put("c/.hidden/f.txt", "no");
  put("c/.g.txt", "no");
  put("c/readme.pdf", "no");
  EXPECT_EQ(read({(folder_ / "c").string()}), (Texts{"1", "2", "3", "4"}));
  std::filesystem::create_directory(folder_ / "empty");
  EXPECT_NE(message_of({(folder_ / "empty").string()}).find("no documents found"), std::string::npos);
}

TEST_F(DocumentSourceTest, NamesThatSayNothingAndFilesThatAreNotText) {
  EXPECT_NE(message_of({(folder_ / "absent.txt").string()}).find("no such file"), std::string::npos);
  const std::string unknown = put("notes", "text");
  EXPECT_NE(message_of({unknown}).find("unknown file type"), std::string::npos);
  EXPECT_EQ(read({unknown}, {.format = SourceFormat::text}), Texts{"text"});
  EXPECT_NE(message_of({put("binary.txt", std::string("a\0b", 3))}).find("NUL"), std::string::npos);
  EXPECT_THROW(Choice<SourceFormat>::by_name("csv", "format"), UsageError);
}

}  // namespace
}  // namespace crope::data
