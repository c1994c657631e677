// What the kernels that decode pages share: runs of Parquet's hybrid of run-length encoding and bit
// packing, and where the parts of a page are.
#ifndef MPGA_KERNELS_PAGES_CUH
#define MPGA_KERNELS_PAGES_CUH

#include "block.cuh"
#include "loads.cuh"
#include "params_pages.h"

constexpr u32 kOnes = ~u32(0);  // all bits of a word
constexpr u32 kRunWidthMax = 32;

// The column that the block is of, and the warp's number among the warps of the column.
__device__ __forceinline__ const PagesLaunch& column_of(const ColumnsLaunch& p, u64* number) {
  u32 c = 0;
#pragma unroll 1
  while (c + 1 < p.num_columns && blockIdx.x >= p.first_blocks[c + 1]) c++;
  *number = u64(blockIdx.x - p.first_blocks[c]) * kPageWarps + threadIdx.x / 32;
  return p.columns[c];
}

// Run is n values: of one value, or packed to bits from a byte on.
struct Run {
  u32 body, next;  // where it begins behind its head, and the next run; next is 0 where there is none
  u32 n, value;
  bool repeated;
};

// The run whose head is at a byte of data, which ends at a byte. Some writers cut off the padding of
// the last values that are packed.
__device__ __forceinline__ Run read_run(const u8* data, u32 at, u32 end, u32 width) {
  Run run = {};
  u64 head = 0;
  u32 shift = 0;
  bool more = true;
#pragma unroll 1
  while (more) {
    if (at >= end || shift > 28) return run;
    const u32 b = __ldg(data + at++);
    head |= u64(b & 127) << shift;
    shift += 7;
    more = b >= 128;
  }
  if (head > 0xffffffff) return run;
  const u32 left = end - at;
  run.body = at;
  run.repeated = (head & 1) == 0;
  if (run.repeated) {
    const u32 bytes = (width + 7) / 8;
    if (bytes > left) return run;
    run.n = u32(head >> 1);
    run.value = bytes > 0 ? load_word(data + at) & (kOnes >> (32 - 8 * bytes)) : 0;
    run.next = at + bytes;
    return run;
  }
  const u64 groups = min(head >> 1, u64((left + width - 1) / width));
  const u64 bytes = min(groups * width, u64(left));
  run.n = u32(min(8 * groups, 8 * bytes / width));
  run.next = at + u32(bytes);
  return run;
}

constexpr u32 kLevelsPrefix = 4;  // bytes

// Where the values of a page of so many bytes begin, behind levels whose length may be damaged: it returns
// false then.
__device__ __forceinline__ bool find_values(u32 levels, const u8* data, u32 bytes, u32* at) {
  *at = 0;
  if (levels != kLevelsPrefixed) return true;
  if (bytes < kLevelsPrefix) return false;
  const u32 level_bytes = load_word(data);
  *at = kLevelsPrefix + level_bytes;
  return level_bytes <= bytes - kLevelsPrefix;
}

// Where the parts of a page are.
struct Parts {
  const u8* levels;
  u32 level_bytes;  // 0 where there are none
  u32 values;       // from the page's begin
};

// Finds the parts of a page. It returns false where its levels are not within their memory.
__device__ __forceinline__ bool find_parts(const PagesLaunch& p, const Page& page, const u8* data, Parts* parts) {
  *parts = {p.memory, 0, 0};
  if (page.levels == kLevelsSized) {
    if (page.levels_from > p.memory_bytes || page.level_bytes > p.memory_bytes - page.levels_from) return false;
    parts->levels += page.levels_from;
    parts->level_bytes = page.level_bytes;
    return true;
  }
  if (!find_values(page.levels, data, page.bytes, &parts->values)) return false;
  if (page.levels == kLevelsPrefixed) {
    parts->levels = data + kLevelsPrefix;
    parts->level_bytes = parts->values - kLevelsPrefix;
  }
  return true;
}

#endif
