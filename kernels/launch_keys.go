package kernels

import "fmt"

// Of params_keys.h.
const keysThreads = 256

// keyPart is KeyPart of params_keys.h.
type keyPart struct {
	values   uint64
	valid    uint64
	base     uint64
	keyRange uint64
	nullCode uint64
	typ      uint32
	word     uint32
	shift    uint32
	nullWord uint32
	nullBit  int32
	_        uint32
}

// keysLaunch is KeysLaunch.
type keysLaunch struct {
	keys     uint64
	rows     uint64
	count    uint64
	outside  uint64
	keyBytes uint32
	parts    uint32
	part     [KeyPartsMax]keyPart
}

func (q operators) PackKeys(k *KeyParts) error {
	if len(k.Parts) > KeyPartsMax || k.KeyBytes > KeyBytesMax {
		return fmt.Errorf("keys of %d parts and %d B cannot be packed", len(k.Parts), k.KeyBytes)
	}
	o := &operation{queue: q.queue, sms: q.queue.deviceProperties().Multiprocessors}
	param := &keysLaunch{
		keys:     o.address(k.Keys, k.Rows*int64(k.KeyBytes)),
		rows:     uint64(k.Rows),
		count:    o.address(k.Count, 8),
		outside:  o.address(k.Outside, 4),
		keyBytes: uint32(k.KeyBytes),
		parts:    uint32(len(k.Parts)),
	}
	for i := range k.Parts {
		p := &k.Parts[i]
		param.part[i] = keyPart{
			values:   o.address(p.Values, k.Rows*int64(p.Type.Bytes())),
			valid:    o.address(p.Valid, ceilDiv(k.Rows, 32)*4),
			base:     uint64(p.Base),
			keyRange: p.Range,
			nullCode: p.NullCode,
			typ:      uint32(p.Type),
			word:     uint32(p.Word),
			shift:    uint32(p.Shift),
			nullWord: uint32(p.NullWord),
			nullBit:  int32(p.NullBit),
		}
	}
	o.fill(param.outside, 4, 0)
	blocks := int(max(1, min(ceilDiv(k.Rows, keysThreads), int64(o.sms)*8)))
	launchWith(o, "pack_keys", blocks, keysThreads, 0, param)
	return o.end("packing of %d keys", k.Rows)
}
