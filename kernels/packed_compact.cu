// Writes the groups of the table of packed slots behind those that are there already.
//
//   launch  any grid; whole warps
//   reads   slots [slot_begin, slot_end) of table    writes  groups; status: groups, overflow (groups that found no room, and carries)
#include "compact.cuh"
#include "packed.cuh"

extern "C" __global__ void __launch_bounds__(1024) packed_compact(const __grid_constant__ PackedLaunch p) {
  const PackedTable table(p);
  const Launch& l = p.launch;
  const u64 carries = table.header->carries;
  if (carries > table.max_carries && blockIdx.x == 0 && threadIdx.x == 0) {
    atomicAdd(&l.groups.status->overflow, carries - table.max_carries);
  }
  compact_slots(
      l, [&](u64 slot) { return table.slots[slot] != 0; },
      [&](u64 slot, u64 row) {
        const u64 word = table.slots[slot];
        const u32 key = table.key_of(slot, word);
        Key4{key}.store(l.groups.keys, row, 0);
        l.groups.states[0][row] = table.total(key, word);
      });
}
