// Finds where the strings of pages begin, a warp for each page. Each string lies behind its length, so
// that a string is found when the string before it is. But many strings have the length of the string
// before them, above all ids and codes: each lane looks where a string would begin if all did. Lengths
// are read from a window of the page in shared memory, which is loaded at once.
//
//   launch  blocks of kFindThreads, a warp for each page
//   reads   pages, memory    writes  places
#include "block.cuh"
#include "pages.cuh"
#include "strings.cuh"
#include "window.cuh"

extern "C" __global__ void __launch_bounds__(kFindThreads) strings_find(const __grid_constant__ StringsLaunch p) {
  __shared__ u32 windows[kFindThreads / 32][kWindowWords];
  u32* window = windows[threadIdx.x / 32];
  const u64 number = u64(blockIdx.x) * (kFindThreads / 32) + threadIdx.x / 32;
  if (number >= p.count) return;
  const StringPage page = p.pages[number];
  if (page.from > p.memory_bytes || page.bytes > p.memory_bytes - page.from || page.first > p.strings ||
      page.most > p.strings - page.first) {
    return;
  }
  const u8* data = p.memory + page.from;
  u32 at, found = 0;
  if (!find_values(page.levels, data, page.bytes, &at)) return;
  u64* places = p.places + page.first;
  const u64 column = u64(page.column) << kPlaceBits;
  u64 skew = 0, reach = 0;  // of the window's begin before data, and how far from data on it has lengths
#pragma unroll 1
  while (found < page.most && page.bytes - at >= 4) {
    if (u64(at) + 4 > reach) {
      load_window(window, data + at, data + page.bytes);
      skew = (reinterpret_cast<u64>(data + at) & 3) - at;
      reach = u64(at) + 4 * (kWindowWords - 1);
    }
    const auto length = [&](u64 of) {
      const u64 byte = of + skew;
      return __funnelshift_r(window[byte / 4], window[byte / 4 + 1], u32(byte) * 8);
    };
    const u32 bytes = length(at), left = page.bytes - at;
    if (bytes > left - 4) return;
    const u64 mine = u64(lane_id()) * (u64(bytes) + 4);  // from at on
    const bool near = mine + bytes + 4 <= left && at + mine + 4 <= reach;
    const bool alike = near && length(at + mine) == bytes;
    const u32 others = __ballot_sync(kAllLanes, !alike);
    const u32 n = min(others == 0 ? 32 : u32(__ffs(i32(others))) - 1, page.most - found);
    if (lane_id() < n) places[found + lane_id()] = column | (page.from + at + mine);
    found += n;
    at += n * (bytes + 4);
  }
}
