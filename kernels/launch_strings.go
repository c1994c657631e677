package kernels

import (
	"fmt"
	"math"
)

// Of params_strings.h.
const (
	findThreads   = 128
	findWarps     = findThreads / 32
	stringThreads = 256
)

// stringsLaunch is StringsLaunch.
type stringsLaunch struct {
	memory        uint64
	memoryBytes   uint64
	pages         uint64
	count         uint64
	strings       uint64
	places        uint64
	slots         uint64
	numSlots      uint64
	numbers       uint64
	head          uint64
	list          uint64
	text          uint64
	textBytes     uint64
	given         uint64
	known         uint64
	knownSlots    uint64
	numKnown      uint64
	knownBytes    uint64
	numKnownBytes uint64
}

// strings returns the parameters of the kernels that number strings.
func (o *operation) strings(s *Strings) (*stringsLaunch, error) {
	if s.Strings >= math.MaxUint32 || s.MemoryBytes > math.MaxUint32 {
		return nil, fmt.Errorf("%d strings of %d B cannot be numbered at once", s.Strings, s.MemoryBytes)
	}
	param := &stringsLaunch{
		memory:        o.address(s.Memory, s.MemoryBytes+PagesPad),
		memoryBytes:   uint64(s.MemoryBytes),
		pages:         o.address(s.Pages, s.Count*StringPageBytes),
		count:         uint64(s.Count),
		strings:       uint64(s.Strings),
		places:        o.address(s.Scratch, s.ScratchBytes()),
		numSlots:      uint64(s.slots()),
		numbers:       o.address(s.Numbers, 4*s.Strings),
		head:          o.address(s.Head, MissingHeadBytes),
		list:          o.address(s.List, MissingBytes*s.Strings),
		text:          o.address(s.Text, s.TextBytes),
		textBytes:     uint64(s.TextBytes),
		given:         o.address(s.Given, 4*s.Strings),
		known:         o.address(s.Known.Memory, s.Known.MemoryBytes()),
		numKnown:      uint64(s.Known.Slots),
		numKnownBytes: uint64(s.Known.Bytes),
	}
	param.slots = param.places + uint64(8*s.Strings)
	param.knownSlots = param.known + stringTableHeader
	param.knownBytes = param.known + uint64(s.Known.ResetBytes())
	return param, nil
}

func (q operators) NumberStrings(s *Strings) error {
	o := &operation{queue: q.queue}
	param, err := o.strings(s)
	if err != nil {
		return err
	}
	o.fill(param.head, MissingHeadBytes, 0)
	if s.Strings == 0 {
		return o.end("numbering of no strings")
	}
	o.fill(param.places, 8*s.Strings, 0xFF) // of no page
	o.fill(param.slots, 4*s.slots(), 0)
	o.fill(param.numbers, 4*s.Strings, 0)
	if s.Count > 0 {
		launchWith(o, "strings_find", int(ceilDiv(s.Count, findWarps)), findThreads, 0, param)
		launchWith(o, "strings_number", int(ceilDiv(s.Strings, stringThreads)), stringThreads, 0, param)
	}
	return o.end("numbering of %d strings", s.Strings)
}

func (q operators) AddStrings(s *Strings, missing int64) error {
	if missing == 0 {
		return nil
	}
	o := &operation{queue: q.queue}
	param, err := o.strings(s)
	if err == nil && missing > s.Strings {
		err = fmt.Errorf("%d of %d strings cannot be added", missing, s.Strings)
	}
	if err != nil {
		return err
	}
	param.count = uint64(missing)
	launchWith(o, "strings_add", int(ceilDiv(missing, stringThreads)), stringThreads, 0, param)
	launchWith(o, "strings_alike", int(ceilDiv(s.Strings, stringThreads)), stringThreads, 0, param)
	return o.end("adding of %d strings", missing)
}
