// What the kernels that number strings share: where strings are, and when two of them are equal.
#ifndef MPGA_KERNELS_STRINGS_CUH
#define MPGA_KERNELS_STRINGS_CUH

#include "hash.cuh"
#include "loads.cuh"
#include "params_strings.h"

// A place is a column and where a string of the column begins in the memory of all pages, with its
// length; or kPlaceAlike and which string it is alike.
constexpr u32 kPlaceBits = 48;
constexpr u64 kPlaceMask = (u64(1) << kPlaceBits) - 1;
constexpr u64 kNoPlace = ~u64(0);
constexpr u64 kPlaceAlike = u64(1) << 63;

struct String {
  const u8* text;
  u32 bytes, column;
};

__device__ __forceinline__ String string_at(const u8* memory, u64 place) {
  const u8* at = memory + (place & kPlaceMask);
  return {at + 4, load_word(at), u32(place >> kPlaceBits)};
}

// The eight bytes from byte i on of a string, and 0 for those behind it.
__device__ __forceinline__ u64 string_word(const String& s, u32 i) {
  const u64 word = load_pair(s.text + i);
  return s.bytes - i < 8 ? word & ((u64(1) << 8 * (s.bytes - i)) - 1) : word;
}

__device__ __forceinline__ u64 hash_string(const String& s) {
  u64 h = u64(s.column) << 32 | s.bytes;
  for (u32 i = 0; i < s.bytes; i += 8) h = combine(h, string_word(s, i));
  return mix64(h);
}

__device__ __forceinline__ bool equal_strings(const String& a, const String& b) {
  if (a.bytes != b.bytes || a.column != b.column) return false;
  for (u32 i = 0; i < a.bytes; i += 8) {
    if (string_word(a, i) != string_word(b, i)) return false;
  }
  return true;
}

// A slot of the strings that have numbers is 0 where it is empty, and else
//
//   | kTagBits of the hash | where the record is, in units of kStringRecordBytes, and 1 |
//
// A record is the number, the bytes and the column of a string, and the string in whole units. It is
// written before its slot, and never again. Other kernels write records meanwhile, so that they are
// read past the first cache, which may have what was there before.
constexpr u32 kTagBits = 24;
constexpr u64 kRecordMask = (u64(1) << (64 - kTagBits)) - 1;

__device__ __forceinline__ u64 tag_of(u64 hash) { return hash & ~kRecordMask; }

__device__ __forceinline__ bool equal_record(const u8* record, const uint4& head, const String& s) {
  if (head.y != s.bytes || head.z != s.column) return false;
  const u64* words = reinterpret_cast<const u64*>(record + kStringRecordBytes);
  for (u32 i = 0; i < s.bytes; i += 8) {
    if (__ldcg(words + i / 8) != string_word(s, i)) return false;
  }
  return true;
}

// The number of a string; 0 where it has none.
__device__ __forceinline__ u32 find_number(const StringsLaunch& p, const String& s, u64 hash) {
  if (p.num_known == 0) return 0;
#pragma unroll 1
  for (u64 at = slot_of(hash, p.num_known);; at = at + 1 == p.num_known ? 0 : at + 1) {
    const u64 slot = __ldcg(p.known_slots + at);
    if (slot == 0) return 0;
    if (tag_of(slot) != tag_of(hash)) continue;
    const u8* record = p.known_bytes + ((slot & kRecordMask) - 1) * kStringRecordBytes;
    const uint4 head = __ldcg(reinterpret_cast<const uint4*>(record));
    if (equal_record(record, head, s)) return head.x;
  }
}

#endif
