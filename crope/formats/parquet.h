// One column of strings of a Parquet file, streamed. Only parquet.cc knows that Arrow reads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace crope::formats {

// Row groups are read one after another, of each only the pages of the column, some hundred rows at a time: memory
// stays at a few pages. A file whose pages or rows need more than 512 MB at once is refused, before they are made. Not
// safe for concurrent use.
class ParquetColumn {
 public:
  // Throws Error if the file is damaged or no Parquet file, if it has no such column (the message lists those it has),
  // or if the column does not hold strings. Strings are string, large_string and binary columns, and dictionaries of
  // them, with any compression.
  static ParquetColumn open(const std::filesystem::path& path, const std::string& column);

  ParquetColumn(ParquetColumn&&) noexcept;
  ~ParquetColumn();

  // The next value that is not null, valid until the next call; nothing at the end.
  // Throws Error naming the file if it is damaged.
  std::optional<std::string_view> next();

  std::uint64_t rows() const;       // of the whole file, nulls included
  std::uint64_t rows_read() const;  // so far, nulls included
  std::uint64_t nulls() const;      // passed over so far

 private:
  struct State;
  explicit ParquetColumn(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace crope::formats
