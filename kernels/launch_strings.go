package kernels

import (
	"fmt"
	"math"

	"github.com/mpga/mpga/internal/rowcode"
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
	listed        uint64
	textBytes     uint64
	given         uint64
	known         uint64
	knownSlots    uint64
	numKnown      uint64
	knownBytes    uint64
	numKnownBytes uint64
	words         uint64
	refused       uint64
	matched       uint64
	unnumbered    uint64
	text          uint64
	wanted        [MatchedColumnsMax]uint32
	numPatterns   uint32
	_             uint32
	patterns      [rowcode.PatternsMax]patternParam
	patternText   [rowcode.PatternTextMax]uint8
}

// patternParam is Pattern of params_strings.h.
type patternParam struct{ kind, from, bytes uint16 }

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
		listed:        o.address(s.Text, s.TextBytes),
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

// match adds what compares strings with patterns.
func (o *operation) match(param *stringsLaunch, s *Strings) error {
	if len(s.Matched) == 0 {
		return nil
	}
	param.words, param.refused = o.address(s.Words, 4*s.Strings), o.address(s.Refused, 4)
	for _, c := range s.Matched {
		if c.Column >= MatchedColumnsMax {
			return fmt.Errorf("column %d has strings that cannot be compared", c.Column)
		}
		bit := uint64(1) << c.Column
		param.matched |= bit
		if !c.Numbered {
			param.unnumbered |= bit
		}
		if c.Text {
			param.text |= bit
		}
		param.wanted[c.Column] = c.Patterns
	}
	text := param.patternText[:0]
	for i, p := range s.Patterns {
		if i >= rowcode.PatternsMax || len(p.Text) > rowcode.PatternTextMax-len(text) {
			return fmt.Errorf("strings cannot be compared with %d others", len(s.Patterns))
		}
		param.patterns[i] = patternParam{uint16(p.Kind), uint16(len(text)), uint16(len(p.Text))}
		text = append(text, p.Text...)
	}
	param.numPatterns = uint32(len(s.Patterns))
	return nil
}

func (q operators) NumberStrings(s *Strings) error {
	o := &operation{queue: q.queue}
	param, err := o.strings(s)
	if err == nil {
		err = o.match(param, s)
	}
	if err != nil {
		return err
	}
	o.fill(param.head, MissingHeadBytes, 0)
	if param.matched != 0 {
		o.fill(param.refused, 4, 0)
	}
	if s.Strings == 0 {
		return o.end("numbering of no strings")
	}
	o.fill(param.places, 8*s.Strings, 0xFF) // of no page
	o.fill(param.slots, 4*s.slots(), 0)
	o.fill(param.numbers, 4*s.Strings, 0)
	if param.matched != 0 {
		o.fill(param.words, 4*s.Strings, 0)
	}
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
