// A block's own table, in shared memory: keys by slot, linear probing, and the states of a program.
// Each slot may have several copies of its states, one for every few lanes of a warp, so that
// lanes with the same key do not wait for each other.
//
//   | states of (slots + 1) << copies_bits | keys of slots + 1, or key words and tags |
//
// Slot `slots` is the last: that of the one key that marks empty slots. A key that finds no slot
// within kBlockProbeMax steps finds none later: slots never become free. So a key is either in the
// table with all its rows, or all its rows are refused.
#ifndef MPGA_KERNELS_BLOCK_TABLE_CUH
#define MPGA_KERNELS_BLOCK_TABLE_CUH

#include "block.cuh"
#include "table.cuh"

constexpr u32 kBlockProbeMax = 64;
constexpr u32 kRefused = 0xffffffff;

template <class T>
struct WordKeys {
  static constexpr T kEmpty = T(kEmptyKey);
  volatile T* keys;
  u32 slots;

  __device__ __forceinline__ WordKeys(char* memory, const Launch& p)
      : keys(reinterpret_cast<volatile T*>(memory)), slots(p.slots) {}

  __device__ __forceinline__ void init() {
#pragma unroll 1
    for (u32 i = threadIdx.x; i < slots; i += blockDim.x) keys[i] = kEmpty;
    if (threadIdx.x == 0) keys[slots] = ~kEmpty;
  }

  // A look at a slot, to be made for several rows before the first is searched for.
  using Look = T;
  __device__ __forceinline__ T look(u32 slot) const { return keys[slot]; }
  __device__ __forceinline__ bool holds(T key, T look) const { return look == key && key != kEmpty; }

  // Goes on from a look at the first slot.
  __device__ __forceinline__ u32 find(T key, u32 slot, T now) {
    if (key == kEmpty) {
      keys[slots] = kEmpty;
      return slots;
    }
#pragma unroll 1
    for (u32 step = 0; step < kBlockProbeMax; step++) {
      if (now == key) return slot;
      if (now == kEmpty) {
        now = atomicCAS(const_cast<T*>(keys + slot), kEmpty, key);
        if (now == kEmpty || now == key) return slot;
      }
      if (++slot == slots) slot = 0;
      now = keys[slot];
    }
    return kRefused;
  }

  __device__ __forceinline__ bool taken(u32 slot) const { return (keys[slot] == kEmpty) == (slot == slots); }
};

template <class Key>
struct BlockKeys;

template <>
struct BlockKeys<Key4> : WordKeys<u32> {
  using WordKeys<u32>::WordKeys;
  __device__ __forceinline__ bool found(Key4 key, u32 look) const { return holds(key.value, look); }
  __device__ __forceinline__ u32 find(Key4 key, u32 slot, u32 now) { return WordKeys<u32>::find(key.value, slot, now); }
  __device__ __forceinline__ Key4 key(u32 slot) const { return {keys[slot]}; }
};

template <>
struct BlockKeys<Key8> : WordKeys<u64> {
  using WordKeys<u64>::WordKeys;
  __device__ __forceinline__ bool found(Key8 key, u64 look) const { return holds(key.value, look); }
  __device__ __forceinline__ u32 find(Key8 key, u32 slot, u64 now) { return WordKeys<u64>::find(key.value, slot, now); }
  __device__ __forceinline__ Key8 key(u32 slot) const { return {keys[slot]}; }
};

template <>
struct BlockKeys<KeyN> {
  u64* words;  // by word, then slot
  u32* tags;   // 0, or 30 bits of the hash and kTagLocked or kTagReady
  u32 slots, num_words;

  __device__ __forceinline__ BlockKeys(char* memory, const Launch& p)
      : words(reinterpret_cast<u64*>(memory)), slots(p.slots), num_words(p.shape.key_bytes / 8) {
    tags = reinterpret_cast<u32*>(words + u64(num_words) * (slots + 1));
  }

  __device__ __forceinline__ void init() {
#pragma unroll 1
    for (u32 i = threadIdx.x; i <= slots; i += blockDim.x) tags[i] = 0;
  }

  using Look = u32;  // of no use: a tag is claimed or compared at once
  __device__ __forceinline__ u32 look(u32) const { return 0; }
  __device__ __forceinline__ bool found(const KeyN&, u32) const { return false; }

  __device__ __forceinline__ u32 find(const KeyN& key, u32 slot, u32) {
    const u32 tag = key.block_hash() & ~u32(kTagStates);
#pragma unroll 1
    for (u32 step = 0; step < kBlockProbeMax;) {
      const u32 now = atomicCAS(tags + slot, 0u, tag | u32(kTagLocked));
      if (now == 0) {
#pragma unroll 1
        for (u32 i = 0; i < num_words; i++) words[u64(i) * (slots + 1) + slot] = key.words[i];
        __threadfence_block();  // whoever sees the tag ready sees the key
        atomicExch(tags + slot, tag | u32(kTagReady));
        return slot;
      }
      if (now == (tag | u32(kTagLocked))) continue;  // its owner is about to write the key
      if (now == (tag | u32(kTagReady))) {
        __threadfence_block();
        if (equal_words(words + slot, slots + 1, key)) return slot;
      }
      if (++slot == slots) slot = 0;
      step++;
    }
    return kRefused;
  }

  __device__ __forceinline__ bool taken(u32 slot) const { return tags[slot] != 0; }
  __device__ __forceinline__ KeyN key(u32 slot) const { return {words + slot, num_words, slots + 1}; }
};

template <class Key, class Program>
struct BlockTable {
  const Launch& p;
  u32 num_states;
  u64* states;
  BlockKeys<Key> keys;

  __device__ __forceinline__ BlockTable(const Launch& launch, u64* shared)
      : p(launch),
        num_states((launch.slots + 1) << launch.copies_bits),
        states(shared),
        keys(reinterpret_cast<char*>(shared) + Program::bytes(launch.shape, num_states), launch) {}

  __device__ __forceinline__ void init() {
    Program::init(p.shape, states, num_states);
    keys.init();
  }

  __device__ __forceinline__ u32 first_slot(const Key& key) const { return __umulhi(key.block_hash(), keys.slots); }

  // The state of a slot that a row of this lane is accumulated into.
  __device__ __forceinline__ u32 state_of(u32 slot) const {
    return slot << p.copies_bits | (lane_id() & ((1u << p.copies_bits) - 1));
  }

  // Merges all groups into the table in device memory, and returns how many found no slot there.
  __device__ u64 flush(Insertions& did) {
    const u32 words = slot_words(p.shape), key_words = slot_key_words(p.shape);
    u64 lost = 0;
#pragma unroll 1
    for (u32 slot = threadIdx.x; slot <= keys.slots; slot += blockDim.x) {
      if (!keys.taken(slot)) continue;
      u64* at = find_or_insert(p.table, words, keys.key(slot), p.probe_max, did);
      if (at == nullptr) {
        lost++;
      } else {
        Program::flush(p.shape, states, num_states, slot << p.copies_bits, 1u << p.copies_bits, at + key_words);
      }
    }
    return lost;
  }

  // Writes all groups, which no other block has, and returns, in thread 0, how many found no room.
  // Requires: states have one copy.
  __device__ u64 emit() {
    __shared__ u64 first;
    const u32 warps = blockDim.x / 32, warp = threadIdx.x / 32;
    const u32 share = (keys.slots + 1 + 32 * warps - 1) / (32 * warps) * 32;  // slots of a warp
    const u32 begin = warp * share, end = min(begin + share, keys.slots + 1);
    u32 mine = 0;
#pragma unroll 1
    for (u32 base = begin; base < end; base += 32) {
      const u32 slot = base + lane_id();
      mine += __popc(__ballot_sync(kAllLanes, slot < end && keys.taken(slot)));
    }
    u32 total;
    const u32 before = block_scan(lane_id() == 0 ? mine : 0, &total);
    if (threadIdx.x == 0) first = atomicAdd(&p.groups.status->groups, u64(total));
    __syncthreads();  // first is there
    u64 row = first + __shfl_sync(kAllLanes, before, 0);
#pragma unroll 1
    for (u32 base = begin; base < end; base += 32) {
      const u32 slot = base + lane_id();
      const bool taken = slot < end && keys.taken(slot);
      const u32 lanes = __ballot_sync(kAllLanes, taken);
      const u64 at = row + __popc(lanes & ((1u << lane_id()) - 1));
      if (taken && at < p.groups.capacity) {
        keys.key(slot).store(p.groups.keys, at);
        Program::emit(p.shape, states, num_states, slot, p.groups, at);
      }
      row += __popc(lanes);
    }
    const u64 room = p.groups.capacity > first ? p.groups.capacity - first : 0;
    return total > room ? total - room : 0;
  }
};

#endif
