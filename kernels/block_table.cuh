// A block's own table, in shared memory: keys by slot, linear probing, and the states of a program.
// Each slot may have several copies of its states, one for every few lanes of a warp, so that
// lanes with the same key do not wait for each other.
//
//   | keys of slots + 1, or key words and tags | states of (slots + 2) << copies_bits |
//
// Slots of keys of one word lie in buckets of 16 bytes, which are looked at at once: where a slot in
// four is taken, one key in 250 is not in the bucket that its search begins at, and one in eight
// would not be in its slot. Searches begin at the first `homes` slots and never wrap.
//
// Slot `slots` is that of the one key that marks empty slots; slot `slots + 1` has no key, and takes
// the rows that are refused. A key that finds no slot by its search's end finds none later: slots
// never become free. So a key is either in the table with all its rows, or all its rows are refused.
#ifndef MPGA_KERNELS_BLOCK_TABLE_CUH
#define MPGA_KERNELS_BLOCK_TABLE_CUH

#include "block.cuh"
#include "table.cuh"

constexpr u32 kBlockProbeMax = 64;

// Where a search that begins at a slot ends. Few begin so late that the table ends first.
__device__ __forceinline__ u32 search_end(u32 slot, u32 slots) { return min(slot + kBlockProbeMax, slots); }

template <class T>
struct WordKeys {
  static constexpr T kEmpty = T(kEmptyKey);
  static constexpr u32 kBucket = 16 / sizeof(T);
  struct alignas(16) Bucket {
    T keys[kBucket];
  };

  T* keys;
  u32 slots;

  __device__ __forceinline__ WordKeys(char* memory, const Launch& p) : keys(reinterpret_cast<T*>(memory)), slots(p.slots) {}

  static __device__ __forceinline__ u32 bytes(const Launch& p) { return (p.slots + 4) * sizeof(T); }

  __device__ __forceinline__ void init() {
#pragma unroll 1
    for (u32 i = threadIdx.x; i < slots; i += blockDim.x) keys[i] = kEmpty;
    if (threadIdx.x == 0) keys[slots] = ~kEmpty;
  }

  // What is in a bucket may be old: that a slot is empty is certain only once it is claimed.
  __device__ __forceinline__ Bucket look(u32 slot) const { return *reinterpret_cast<const Bucket*>(keys + slot); }

  // Turns the first slots of keys into their slots, or that of the refused. All are looked at before
  // any is searched for; a search has few lanes, and is best over soon.
  template <u32 kKeys>
  __device__ __forceinline__ void find(const T (&key)[kKeys], u32 (&slot)[kKeys]) {
    Bucket now[kKeys];
#pragma unroll
    for (u32 i = 0; i < kKeys; i++) {
      slot[i] &= ~(kBucket - 1);
      now[i] = look(slot[i]);
    }
#pragma unroll
    for (u32 i = 0; i < kKeys; i++) {
      bool found = false;
      u32 at = 0;
#pragma unroll
      for (u32 k = 0; k < kBucket; k++) {
        if (now[i].keys[k] == key[i]) {
          found = true;
          at = k;
        }
      }
      if (found && key[i] != kEmpty) {
        slot[i] += at;
      } else {
        slot[i] = search(key[i], slot[i], now[i]);
      }
    }
  }

  // Goes on from a look at the first bucket.
  __device__ __forceinline__ u32 search(T key, u32 slot, Bucket now) {
    if (key == kEmpty) {
      keys[slots] = kEmpty;
      return slots;
    }
    const u32 end = search_end(slot, slots);
#pragma unroll 1
    for (;;) {
      u32 at = kBucket;  // the key, or else the first slot that is empty: keys fill a bucket in order
#pragma unroll
      for (u32 k = kBucket; k-- > 0;) {
        if (now.keys[k] == key || now.keys[k] == kEmpty) at = k;
      }
      if (at < kBucket) {
        const T was = atomicCAS(keys + slot + at, kEmpty, key);
        if (was == kEmpty || was == key) return slot + at;
      } else {
        slot += kBucket;
        if (slot >= end) return slots + 1;
      }
      now = look(slot);
    }
  }

  __device__ __forceinline__ bool taken(u32 slot) const { return (keys[slot] == kEmpty) == (slot == slots); }
};

template <class Key>
struct BlockKeys;

template <>
struct BlockKeys<Key4> : WordKeys<u32> {
  using WordKeys<u32>::WordKeys;
  template <u32 kKeys>
  __device__ __forceinline__ void find(const Key4 (&key)[kKeys], u32 (&slot)[kKeys]) {
    u32 words[kKeys];
#pragma unroll
    for (u32 i = 0; i < kKeys; i++) words[i] = key[i].value;
    WordKeys<u32>::find(words, slot);
  }
  __device__ __forceinline__ Key4 key(u32 slot) const { return {keys[slot]}; }
};

template <>
struct BlockKeys<Key8> : WordKeys<u64> {
  using WordKeys<u64>::WordKeys;
  template <u32 kKeys>
  __device__ __forceinline__ void find(const Key8 (&key)[kKeys], u32 (&slot)[kKeys]) {
    u64 words[kKeys];
#pragma unroll
    for (u32 i = 0; i < kKeys; i++) words[i] = key[i].value;
    WordKeys<u64>::find(words, slot);
  }
  __device__ __forceinline__ Key8 key(u32 slot) const { return {keys[slot]}; }
};

template <>
struct BlockKeys<KeyN> {
  static constexpr u32 kBucket = 1;
  u64* words;  // by word, then slot
  u32* tags;   // 0, or 30 bits of the hash and kTagLocked or kTagReady
  u32 slots, num_words;

  __device__ __forceinline__ BlockKeys(char* memory, const Launch& p)
      : words(reinterpret_cast<u64*>(memory)), slots(p.slots), num_words(p.shape.key_bytes / 8) {
    tags = reinterpret_cast<u32*>(words + u64(num_words) * (slots + 1));
  }

  static __device__ __forceinline__ u32 bytes(const Launch& p) { return ((p.shape.key_bytes + 4) * (p.slots + 2) + 15) / 16 * 16; }

  __device__ __forceinline__ void init() {
#pragma unroll 1
    for (u32 i = threadIdx.x; i <= slots; i += blockDim.x) tags[i] = 0;
  }

  template <u32 kKeys>
  __device__ __forceinline__ void find(const KeyN (&key)[kKeys], u32 (&slot)[kKeys]) {
#pragma unroll
    for (u32 i = 0; i < kKeys; i++) slot[i] = find_one(key[i], slot[i]);
  }

  __device__ __forceinline__ u32 find_one(const KeyN& key, u32 slot) {
    const u32 tag = key.block_hash() & ~u32(kTagStates);
    const u32 end = search_end(slot, slots);
#pragma unroll 1
    while (slot < end) {
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
      slot++;
    }
    return slots + 1;
  }

  __device__ __forceinline__ bool taken(u32 slot) const { return tags[slot] != 0; }
  __device__ __forceinline__ KeyN key(u32 slot) const { return {words + slot, num_words, slots + 1}; }
};

template <class Key, class Program, bool kCopies>
struct BlockTable {
  const Launch& p;
  u32 num_states;
  BlockKeys<Key> keys;
  u64* states;

  __device__ __forceinline__ BlockTable(const Launch& launch, u64* shared)
      : p(launch),
        num_states((launch.slots + 2) << copies_bits(launch)),
        keys(reinterpret_cast<char*>(shared), launch),
        states(shared + BlockKeys<Key>::bytes(launch) / sizeof(u64)) {}

  static __device__ __forceinline__ u32 copies_bits(const Launch& p) { return kCopies ? p.copies_bits : 0; }

  __device__ __forceinline__ void init() {
    Program::init(p.shape, states, num_states);
    keys.init();
  }

  template <u32 kKeys>
  __device__ __forceinline__ void find(const Key (&key)[kKeys], u32 (&slot)[kKeys]) {
#pragma unroll
    for (u32 i = 0; i < kKeys; i++) slot[i] = __umulhi(key[i].block_hash(), p.homes);
    keys.find(key, slot);
  }

  // The state of a slot that a row of this lane is accumulated into.
  __device__ __forceinline__ u32 state_of(u32 slot) const {
    return kCopies ? slot << p.copies_bits | (lane_id() & ((1u << p.copies_bits) - 1)) : slot;
  }

  __device__ __forceinline__ bool refused(u32 slot) const { return slot > keys.slots; }

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
        Program::flush(p.shape, states, num_states, slot << copies_bits(p), 1u << copies_bits(p), at + key_words);
      }
    }
    return lost;
  }

  // Writes all groups, which no other block has, and returns, in thread 0, how many found no room.
  __device__ u64 emit() {
    static_assert(!kCopies, "states have one copy");
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
