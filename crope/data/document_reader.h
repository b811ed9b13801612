// Reads the documents of one file, a fragment at a time. Used by DocumentSource alone.
#pragma once

#include <memory>
#include <optional>

#include "crope/data/document_source.h"

namespace crope::data {

class DocumentSource::Reader {
 public:
  virtual ~Reader() = default;

  // The next fragment, valid until the next call; nothing at the end of the file, where no document is left open.
  virtual std::optional<Fragment> next() = 0;

  // Stored bytes read so far.
  virtual std::uint64_t consumed() const = 0;
};

// Counts skipped rows in `counts`, which must outlive the reader.
std::unique_ptr<DocumentSource::Reader> open_documents(const SourceFile& file, const SourceOptions& options,
                                                       SourceCounts& counts);

}  // namespace crope::data
