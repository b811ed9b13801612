#include "crope/formats/parquet.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <parquet/file_reader.h>

#include <utility>

#include "crope/base/error.h"
#include "crope/formats/arrow_status.h"
#include "crope/formats/bounded_parquet.h"

namespace crope::formats {
namespace fs = std::filesystem;
namespace {

bool holds_strings(const arrow::DataType& type) {
  if (type.id() == arrow::Type::DICTIONARY) {
    return holds_strings(*static_cast<const arrow::DictionaryType&>(type).value_type());
  }
  return arrow::is_base_binary_like(type.id()) || arrow::is_binary_view_like(type.id());
}

std::string_view string_at(const arrow::Array& array, std::int64_t i) {
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      return static_cast<const arrow::BinaryArray&>(array).GetView(i);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return static_cast<const arrow::LargeBinaryArray&>(array).GetView(i);
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW:
      return static_cast<const arrow::BinaryViewArray&>(array).GetView(i);
    default: {
      const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
      return string_at(*encoded.dictionary(), encoded.GetValueIndex(i));
    }
  }
}

}  // namespace

struct ParquetColumn::State {
  explicit State(const fs::path& given) : path(given), file(given) {}

  fs::path path;
  BoundedParquet file;
  std::unique_ptr<arrow::RecordBatchReader> batches;
  std::shared_ptr<arrow::RecordBatch> batch;
  std::int64_t row = 0;  // the next one of the batch
  std::uint64_t rows = 0, rows_read = 0, nulls = 0;

  void open(const std::string& column) {
    std::shared_ptr<arrow::Schema> schema;
    check_arrow(path, file.reader().GetSchema(&schema));
    const std::shared_ptr<arrow::Field> field = schema->GetFieldByName(column);
    if (field == nullptr) {
      throw Error(fmt::format("{}: there is no column '{}'; there are: {}", path.string(), column,
                              fmt::join(schema->field_names(), ", ")),
                  "give one of them as text_field");
    }
    if (!holds_strings(*field->type())) {
      throw Error(fmt::format("{}: the column '{}' holds {}, expected strings", path.string(), column,
                              field->type()->ToString()));
    }
    const auto metadata = file.reader().parquet_reader()->metadata();
    const int leaf = metadata->schema()->ColumnIndex(column);
    if (leaf < 0) throw_damaged_parquet(path, fmt::format("the column '{}' has no data", column));
    rows = static_cast<std::uint64_t>(metadata->num_rows());
    batches = file.batches({leaf});
  }

  std::optional<std::string_view> next() {
    while (true) {
      while (batch != nullptr && row < batch->num_rows()) {
        const arrow::Array& values = *batch->column(0);
        const std::int64_t at = row++;
        ++rows_read;
        if (values.IsValid(at)) return string_at(values, at);
        ++nulls;
      }
      check_arrow(path, batches->ReadNext(&batch));
      row = 0;
      if (batch != nullptr) {
        check_arrow(path, batch->ValidateFull());
        continue;
      }
      if (rows_read != rows)
        throw_damaged_parquet(path, fmt::format("{} rows were announced, {} found", rows, rows_read));
      return std::nullopt;
    }
  }
};

ParquetColumn::ParquetColumn(std::unique_ptr<State> state) : state_(std::move(state)) {}
ParquetColumn::ParquetColumn(ParquetColumn&&) noexcept = default;
ParquetColumn::~ParquetColumn() = default;

ParquetColumn ParquetColumn::open(const fs::path& path, const std::string& column) {
  try {
    auto state = std::make_unique<State>(path);
    state->open(column);
    return ParquetColumn(std::move(state));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw_parquet_error(path, e);
  }
}

std::optional<std::string_view> ParquetColumn::next() {
  try {
    return state_->next();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw_parquet_error(state_->path, e);
  }
}

std::uint64_t ParquetColumn::rows() const {
  return state_->rows;
}

std::uint64_t ParquetColumn::rows_read() const {
  return state_->rows_read;
}

std::uint64_t ParquetColumn::nulls() const {
  return state_->nulls;
}

}  // namespace crope::formats
