// Takes the numbers that the host has given to listed strings, and adds the strings to those that are
// known, while there is room for them. Two kernels may add one string at once, with the same number:
// either record serves.
//
//   launch  blocks of kStringThreads, a thread for each of count listed strings
//   reads   memory, places, list, given    writes  numbers, known
#include "strings.cuh"

__device__ __forceinline__ void add_known(const StringsLaunch& p, const String& s, u32 number) {
  if (p.num_known == 0 || s.bytes > kKnownMax) return;
  if (atomicAdd(&p.known->entries, u64(1)) >= p.num_known / 2) return;
  const u64 units = (u64(s.bytes) + kStringRecordBytes - 1) / kStringRecordBytes + 1;
  const u64 from = atomicAdd(&p.known->bytes, units * kStringRecordBytes);
  if (from > p.num_known_bytes || units * kStringRecordBytes > p.num_known_bytes - from) return;
  u8* record = p.known_bytes + from;
  *reinterpret_cast<uint4*>(record) = make_uint4(number, s.bytes, s.column, 0);
  u64* words = reinterpret_cast<u64*>(record + kStringRecordBytes);
  for (u32 i = 0; i < s.bytes; i += 8) words[i / 8] = string_word(s, i);
  __threadfence();  // whoever sees the slot sees the record
  const u64 hash = hash_string(s), slot = tag_of(hash) | (from / kStringRecordBytes + 1);
  u64 at = slot_of(hash, p.num_known);
#pragma unroll 1
  while (atomicCAS(p.known_slots + at, u64(0), slot) != 0) at = at + 1 == p.num_known ? 0 : at + 1;
}

extern "C" __global__ void __launch_bounds__(kStringThreads) strings_add(const __grid_constant__ StringsLaunch p) {
  const u64 i = u64(blockIdx.x) * kStringThreads + threadIdx.x;
  if (i >= p.count || p.given[i] == 0) return;
  const MissingString missing = p.list[i];
  p.numbers[missing.string] = p.given[i];
  add_known(p, string_at(p.memory, p.places[missing.string]), p.given[i]);
}
