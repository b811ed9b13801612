// DocumentSource is tested as a whole in document_source_test.cc; here, what one file's reader promises.
#include "crope/data/document_reader.h"

#include "tests/data/scratch_folder.h"

namespace crope::data {
namespace {

using DocumentReaderTest = ScratchFolder;

TEST_F(DocumentReaderTest, NoDocumentIsLeftOpenAtTheEndOfAFile) {
  const std::string names[] = {put("a.txt", "one\n<|endoftext|>\ntwo"),
                               put("b.jsonl", "{\"text\":\"x\"}\n{\"text\":null}\n")};
  for (const SourceFile& file : find_sources(names, SourceFormat::automatic)) {
    SourceCounts counts;
    const auto reader = open_documents(file, {}, counts);
    bool open = false;
    while (const auto fragment = reader->next()) open = !fragment->ends_document;
    EXPECT_FALSE(open) << file.path;
    EXPECT_EQ(reader->consumed(), file.bytes);
  }
}

}  // namespace
}  // namespace crope::data
