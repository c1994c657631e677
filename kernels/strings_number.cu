// Compares strings with patterns, looks for the numbers of strings, and lists the strings that have none, each once.
//
//   launch  blocks of kStringThreads, a thread for each string, behind strings_find
//   reads   memory, places, known
//   writes  words, refused; numbers, slots, head, list, listed; places of strings that are alike a listed one
#include "patterns.cuh"
#include "strings.cuh"

// Lists a string, and copies its bytes where there is room for them.
__device__ __forceinline__ void list_string(const StringsLaunch& p, u32 number, const String& s) {
  const Missing before = atomicAdd(p.head, u64(1) << 32 | s.bytes);
  const u32 at = u32(before);
  p.list[before >> 32] = {number, s.bytes};
  if (at > p.text_bytes || s.bytes > p.text_bytes - at) return;
  u8* out = p.listed + at;
  for (u32 i = 0; i < s.bytes; i += 8) {
    u64 word = string_word(s, i);
    const u32 n = min(s.bytes - i, 8u);
#pragma unroll 1
    for (u32 b = 0; b < n; b++, word >>= 8) out[i + b] = u8(word);
  }
}

extern "C" __global__ void __launch_bounds__(kStringThreads) strings_number(const __grid_constant__ StringsLaunch p) {
  const u64 i = u64(blockIdx.x) * kStringThreads + threadIdx.x;
  if (i >= p.strings) return;
  const u64 place = p.places[i];
  if (place == kNoPlace) return;
  const String s = string_at(p.memory, place);
  if (in_columns(p.matched, s)) {
    p.words[i] = pattern_bits(p, s);
    if (in_columns(p.text, s) && !is_text(s)) *p.refused = 1;
    if (in_columns(p.unnumbered, s)) return;
  }
  const u64 hash = hash_string(s);
  const u32 number = find_number(p, s, hash);
  if (number != 0) {
    p.numbers[i] = number;
    return;
  }
#pragma unroll 1
  for (u64 at = slot_of(hash, p.num_slots);; at = at + 1 == p.num_slots ? 0 : at + 1) {
    const u32 other = atomicCAS(p.slots + at, 0u, u32(i) + 1);
    if (other == 0) break;
    // The place of a string in a slot does not change: it is alike no other string.
    if (equal_strings(s, string_at(p.memory, p.places[other - 1]))) {
      p.places[i] = kPlaceAlike | (other - 1);
      return;
    }
  }
  list_string(p, u32(i), s);
}
