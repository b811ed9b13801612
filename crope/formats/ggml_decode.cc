#include "crope/formats/ggml_decode.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "crope/base/half.h"

namespace crope::formats {
namespace {

using Bytes = const std::uint8_t*;

float half_at(Bytes bytes) {
  std::uint16_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return half_to_float(bits);
}

std::uint32_t word_at(Bytes bytes) {
  std::uint32_t bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

// Each decodes one block and returns a sum that is finite if its scales are.

float decode_f32(Bytes block, float* out) {
  *out = std::bit_cast<float>(word_at(block));
  return 0;
}

float decode_f16(Bytes block, float* out) {
  *out = half_at(block);
  return 0;
}

float decode_bf16(Bytes block, float* out) {
  std::uint16_t bits;
  std::memcpy(&bits, block, sizeof(bits));
  *out = std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  return 0;
}

float decode_q8_0(Bytes block, float* out) {
  const float d = half_at(block);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
  return d;
}

// 16 bytes of low and high nibbles; element i has bit i of `fifth` on top.
template <int kBits>
void decode_nibbles(Bytes nibbles, std::uint32_t fifth, float d, float m, float* out) {
  for (int i = 0; i < 16; ++i) {
    int low = nibbles[i] & 15, high = nibbles[i] >> 4;
    if constexpr (kBits == 5) {
      low |= static_cast<int>(fifth >> i & 1) << 4;
      high |= static_cast<int>(fifth >> (i + 16) & 1) << 4;
    }
    out[i] = d * static_cast<float>(low) + m;
    out[i + 16] = d * static_cast<float>(high) + m;
  }
}

float decode_q4_0(Bytes block, float* out) {
  const float d = half_at(block);
  decode_nibbles<4>(block + 2, 0, d, -8 * d, out);
  return d;
}

float decode_q4_1(Bytes block, float* out) {
  const float d = half_at(block), m = half_at(block + 2);
  decode_nibbles<4>(block + 4, 0, d, m, out);
  return d + m;
}

float decode_q5_0(Bytes block, float* out) {
  const float d = half_at(block);
  decode_nibbles<5>(block + 6, word_at(block + 2), d, -16 * d, out);
  return d;
}

float decode_q5_1(Bytes block, float* out) {
  const float d = half_at(block), m = half_at(block + 2);
  decode_nibbles<5>(block + 8, word_at(block + 4), d, m, out);
  return d + m;
}

// Scale and minimum of group g, 6 bits each: the first four groups have bytes of their own, whose upper bits belong to
// the last four.
struct GroupScale {
  int scale, minimum;
};
GroupScale group_scale(Bytes packed, int g) {
  if (g < 4) return {packed[g] & 63, packed[g + 4] & 63};
  return {(packed[g + 4] & 15) | (packed[g - 4] >> 6) << 4, (packed[g + 4] >> 4) | (packed[g] >> 6) << 4};
}

// Groups 2 p and 2 p + 1 are the low and high nibbles of 32 bytes; `fifth`, if there is one, has bit g of group g.
float decode_groups(Bytes block, Bytes fifth, Bytes nibbles, float* out) {
  const float d = half_at(block), dmin = half_at(block + 2);
  for (int g = 0; g < 8; ++g) {
    const auto [scale, minimum] = group_scale(block + 4, g);
    const float step = d * static_cast<float>(scale), offset = dmin * static_cast<float>(minimum);
    for (int i = 0; i < 32; ++i) {
      const int byte = nibbles[g / 2 * 32 + i];
      int q = g % 2 == 0 ? byte & 15 : byte >> 4;
      if (fifth != nullptr) q |= (fifth[i] >> g & 1) << 4;
      out[32 * g + i] = step * static_cast<float>(q) - offset;
    }
  }
  return d + dmin;
}

float decode_q4_k(Bytes block, float* out) {
  return decode_groups(block, nullptr, block + 16, out);
}

float decode_q5_k(Bytes block, float* out) {
  return decode_groups(block, block + 16, block + 48, out);
}

float decode_q6_k(Bytes block, float* out) {
  const float d = half_at(block + 208);
  for (int half = 0; half < 2; ++half) {
    const Bytes low = block + 64 * half, high = block + 128 + 32 * half, scales = block + 192 + 8 * half;
    for (int part = 0; part < 4; ++part) {
      for (int i = 0; i < 32; ++i) {
        const int byte = low[32 * (part % 2) + i];
        const int q = ((part < 2 ? byte & 15 : byte >> 4) | (high[i] >> (2 * part) & 3) << 4) - 32;
        const auto scale = static_cast<float>(static_cast<std::int8_t>(scales[2 * part + i / 16]));
        out[128 * half + 32 * part + i] = d * scale * static_cast<float>(q);
      }
    }
  }
  return d;
}

using DecodeBlock = float (*)(Bytes, float*);

template <DecodeBlock kDecode>
void decode_all(GgmlBlock block, std::span<const std::byte> bytes, float* out, std::string_view origin) {
  const auto* at = reinterpret_cast<Bytes>(bytes.data());
  const std::size_t count = bytes.size() / static_cast<std::size_t>(block.bytes);
  for (std::size_t i = 0; i < count; ++i, at += block.bytes, out += block.elements) {
    if (!std::isfinite(kDecode(at, out))) {
      throw Error(fmt::format("{}: the scale of block {} is not finite", origin, i), "fetch or convert the file again");
    }
  }
}

}  // namespace

void decode_ggml_blocks(GgmlType type, std::span<const std::byte> bytes, std::span<float> values,
                        std::string_view origin) {
  const GgmlBlock block = ggml_block(type);
  switch (type) {
    case GgmlType::f32:
      return decode_all<decode_f32>(block, bytes, values.data(), origin);
    case GgmlType::f16:
      return decode_all<decode_f16>(block, bytes, values.data(), origin);
    case GgmlType::bf16:
      return decode_all<decode_bf16>(block, bytes, values.data(), origin);
    case GgmlType::q8_0:
      return decode_all<decode_q8_0>(block, bytes, values.data(), origin);
    case GgmlType::q4_0:
      return decode_all<decode_q4_0>(block, bytes, values.data(), origin);
    case GgmlType::q4_1:
      return decode_all<decode_q4_1>(block, bytes, values.data(), origin);
    case GgmlType::q5_0:
      return decode_all<decode_q5_0>(block, bytes, values.data(), origin);
    case GgmlType::q5_1:
      return decode_all<decode_q5_1>(block, bytes, values.data(), origin);
    case GgmlType::q4_k:
      return decode_all<decode_q4_k>(block, bytes, values.data(), origin);
    case GgmlType::q5_k:
      return decode_all<decode_q5_k>(block, bytes, values.data(), origin);
    case GgmlType::q6_k:
      return decode_all<decode_q6_k>(block, bytes, values.data(), origin);
  }
}

}  // namespace crope::formats
