// Whether a string is as a pattern says, byte by byte, and whether it is UTF-8.
#ifndef MPGA_KERNELS_PATTERNS_CUH
#define MPGA_KERNELS_PATTERNS_CUH

#include "strings.cuh"

constexpr u32 kStringThere = 1u << kPatternsMax;

__device__ __forceinline__ bool in_columns(u64 columns, const String& s) {
  return s.column < kMatchedColumnsMax && (columns >> s.column & 1) != 0;
}

// Whether n bytes of a string, from one on, are those of a text.
__device__ __forceinline__ bool has_at(const String& s, u32 at, const u8* text, u32 n) {
  if (n > s.bytes - at) return false;
#pragma unroll 1
  for (u32 i = 0; i < n; i++) {
    if (s.text[at + i] != text[i]) return false;
  }
  return true;
}

// Where n bytes of a text are first, from a byte of a string on; past its end where they are not.
__device__ inline u32 find_from(const String& s, u32 at, const u8* text, u32 n) {
#pragma unroll 1
  for (; at + n <= s.bytes; at++) {
    if (has_at(s, at, text, n)) return at;
  }
  return s.bytes + 1;
}

// Less than 0, 0 or more, as the string comes before a text, is the text, or comes behind it.
__device__ inline i32 compare_text(const String& s, const u8* text, u32 n) {
  const u32 least = s.bytes < n ? s.bytes : n;
#pragma unroll 1
  for (u32 i = 0; i < least; i++) {
    const i32 d = i32(s.text[i]) - i32(text[i]);
    if (d != 0) return d;
  }
  return s.bytes == n ? 0 : s.bytes < n ? -1 : 1;
}

// Whether a string has the parts of a text, one after the other.
__device__ inline bool has_parts(const String& s, const u8* text, u32 n) {
  u32 at = 0;  // of the string
#pragma unroll 1
  for (u32 begin = 0;;) {
    u32 end = begin;
#pragma unroll 1
    while (end < n && text[end] != kPartEnd) end++;
    const u8* part = text + begin;
    const u32 bytes = end - begin;
    if (end == n) return bytes <= s.bytes - at && has_at(s, s.bytes - bytes, part, bytes);
    if (begin == 0) {
      if (!has_at(s, 0, part, bytes)) return false;
    } else {
      at = find_from(s, at, part, bytes);
      if (at > s.bytes) return false;
    }
    at += bytes;
    begin = end + 1;
  }
}

// A bit for each pattern that is asked for of the string's column, and kStringThere. A string that is too long to be
// searched by one thread is refused.
__device__ inline u32 pattern_bits(const StringsLaunch& p, const String& s) {
  u32 bits = kStringThere;
#pragma unroll 1
  for (u32 left = p.wanted[s.column]; left != 0; left &= left - 1) {
    const u32 i = u32(__ffs(i32(left))) - 1;
    const Pattern& of = p.patterns[i];
    const u8* text = p.pattern_text + of.from;
    bool is;
    switch (of.kind) {
      case kIsEqual: is = s.bytes == of.bytes && has_at(s, 0, text, of.bytes); break;
      case kIsBefore: is = compare_text(s, text, of.bytes) < 0; break;
      case kIsUpTo: is = compare_text(s, text, of.bytes) <= 0; break;
      default:
        is = false;
        if (u64(s.bytes) * of.bytes > kPatternSteps) {
          *p.refused = 1;
        } else {
          is = has_parts(s, text, of.bytes);
        }
    }
    bits |= u32(is) << i;
  }
  return bits;
}

// Whether a string is UTF-8: no character is longer than it needs to be, a surrogate, or above U+10FFFF.
__device__ inline bool is_text(const String& s) {
  u32 more = 0, low = 0x80, high = 0xBF;  // bytes of a character that are to come, and the bounds of the next
#pragma unroll 1
  for (u32 i = 0; i < s.bytes; i += 8) {
    u64 word = string_word(s, i);
    if (more == 0 && (word & 0x8080808080808080ull) == 0) continue;
    const u32 n = min(s.bytes - i, 8u);
#pragma unroll 1
    for (u32 b = 0; b < n; b++, word >>= 8) {
      const u32 c = u32(word) & 0xFF;
      if (more > 0) {
        if (c < low || c > high) return false;
        more--;
        low = 0x80, high = 0xBF;
      } else if (c >= 0x80) {
        if (c < 0xC2 || c > 0xF4) return false;
        more = c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
        if (c == 0xE0) low = 0xA0;
        if (c == 0xED) high = 0x9F;
        if (c == 0xF0) low = 0x90;
        if (c == 0xF4) high = 0x8F;
      }
    }
  }
  return more == 0;
}

#endif
