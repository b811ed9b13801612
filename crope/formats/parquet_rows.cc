#include "crope/formats/parquet_rows.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <fmt/format.h>
#include <parquet/file_reader.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "crope/base/error.h"
#include "crope/base/utf8.h"
#include "crope/formats/arrow_status.h"
#include "crope/formats/bounded_parquet.h"

namespace crope::formats {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kMostRowBytes = std::uint64_t{1} << 30;

// Where a value comes from, for messages; and what all values of the file take so far.
struct ColumnPlace {
  const fs::path& path;
  const std::string& column;
  std::uint64_t& bytes;
};

void count_value(const ColumnPlace& place, std::size_t text_bytes) {
  place.bytes += sizeof(Json) + text_bytes;
  if (place.bytes <= kMostRowBytes) return;
  throw Error(fmt::format("{}: rows that take more than the {} MB allowed for a benchmark", place.path.string(),
                          kMostRowBytes >> 20),
              "a corpus is read by 'crope data prepare'");
}

Json string_value(const ColumnPlace& place, std::string_view text) {
  count_value(place, text.size());
  if (valid_utf8_prefix(text) != text.size()) {
    throw Error(fmt::format("{}: the column '{}' holds bytes that are not UTF-8", place.path.string(), place.column));
  }
  return std::string(text);
}

template <typename Array>
Json number_at(const arrow::Array& array, std::int64_t row) {
  return static_cast<const Array&>(array).Value(row);
}

Json value_at(const ColumnPlace& place, const arrow::Array& array, std::int64_t row);

template <typename List>
Json list_at(const ColumnPlace& place, const arrow::Array& array, std::int64_t row) {
  const auto& list = static_cast<const List&>(array);
  Json values = Json::array();
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(list.value_length(row)); ++i) {
    values.push_back(value_at(place, *list.values(), static_cast<std::int64_t>(list.value_offset(row)) + i));
  }
  return values;
}

Json struct_at(const ColumnPlace& place, const arrow::StructArray& array, std::int64_t row) {
  Json object = Json::object();
  for (int i = 0; i < array.num_fields(); ++i) {
    object[array.struct_type()->field(i)->name()] = value_at(place, *array.field(i), row);
  }
  return object;
}

Json value_at(const ColumnPlace& place, const arrow::Array& array, std::int64_t row) {
  using arrow::Type;
  count_value(place, 0);
  if (array.IsNull(row)) return nullptr;
  switch (array.type_id()) {
    case Type::STRING:
    case Type::BINARY:
      return string_value(place, static_cast<const arrow::BinaryArray&>(array).GetView(row));
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return string_value(place, static_cast<const arrow::LargeBinaryArray&>(array).GetView(row));
    case Type::BOOL:
      return static_cast<const arrow::BooleanArray&>(array).Value(row);
    case Type::INT8:
      return number_at<arrow::Int8Array>(array, row);
    case Type::UINT8:
      return number_at<arrow::UInt8Array>(array, row);
    case Type::INT16:
      return number_at<arrow::Int16Array>(array, row);
    case Type::UINT16:
      return number_at<arrow::UInt16Array>(array, row);
    case Type::INT32:
      return number_at<arrow::Int32Array>(array, row);
    case Type::UINT32:
      return number_at<arrow::UInt32Array>(array, row);
    case Type::INT64:
      return number_at<arrow::Int64Array>(array, row);
    case Type::UINT64:
      return number_at<arrow::UInt64Array>(array, row);
    case Type::FLOAT:
      return number_at<arrow::FloatArray>(array, row);
    case Type::DOUBLE:
      return number_at<arrow::DoubleArray>(array, row);
    case Type::LIST:
      return list_at<arrow::ListArray>(place, array, row);
    case Type::LARGE_LIST:
      return list_at<arrow::LargeListArray>(place, array, row);
    case Type::STRUCT:
      return struct_at(place, static_cast<const arrow::StructArray&>(array), row);
    case Type::DICTIONARY: {
      const auto& encoded = static_cast<const arrow::DictionaryArray&>(array);
      return value_at(place, *encoded.dictionary(), encoded.GetValueIndex(row));
    }
    default:
      throw Error(fmt::format("{}: the column '{}' holds {}, which no benchmark has", place.path.string(), place.column,
                              array.type()->ToString()));
  }
}

void read_rows(const fs::path& path, const std::function<void(Json)>& take) {
  BoundedParquet file(path);
  std::vector<int> leaves(
      static_cast<std::size_t>(file.reader().parquet_reader()->metadata()->schema()->num_columns()));
  std::iota(leaves.begin(), leaves.end(), 0);
  const auto batches = file.batches(leaves);
  std::shared_ptr<arrow::RecordBatch> batch;
  std::uint64_t bytes = 0;
  while (true) {
    check_arrow(path, batches->ReadNext(&batch));
    if (batch == nullptr) return;
    check_arrow(path, batch->ValidateFull());
    for (std::int64_t row = 0; row < batch->num_rows(); ++row) {
      Json object = Json::object();
      for (int i = 0; i < batch->num_columns(); ++i) {
        const std::string& column = batch->column_name(i);
        object[column] = value_at({path, column, bytes}, *batch->column(i), row);
      }
      take(std::move(object));
    }
  }
}

}  // namespace

void read_parquet_rows(const fs::path& path, const std::function<void(Json)>& take) {
  try {
    read_rows(path, take);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw_parquet_error(path, e);
  }
}

}  // namespace crope::formats
