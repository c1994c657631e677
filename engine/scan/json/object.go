package json

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/internal/knob"
)

// keySet finds members of objects by their keys.
type keySet struct {
	names  []string
	keys   []writtenKey // by member
	places map[string]int32
	path   string // before the names, in errors
	given  bool   // by an option: other keys are passed over
	isPart bool   // of the objects of a column of lists or structs, which no option names
}

// newKeySet returns the keys of some members. own is what the sample of a file has of them; it may be nil.
func newKeySet(all []arrow.Field, own *members, path string, given bool) keySet {
	k := keySet{names: make([]string, len(all)), keys: make([]writtenKey, len(all)),
		places: make(map[string]int32, len(all)), path: path, given: given}
	for i, f := range all {
		written := ""
		if own.find(f.Name) != nil {
			written = own.keys[own.places[f.Name]]
		}
		k.names[i], k.keys[i], k.places[f.Name] = f.Name, keyOf(f.Name, written), int32(i)
	}
	return k
}

// newFollows returns the guess of which member's key comes behind each; the last is the guess of the first.
func (k *keySet) newFollows() []int32 {
	n := len(k.names)
	follows := make([]int32, n+1)
	for i := range n {
		follows[i] = int32((i + 1) % n)
	}
	return follows
}

// twice is the error of a member that an object has already.
func (k *keySet) twice(member int32) error {
	return fmt.Errorf("key %q is twice in an object", k.path+k.names[member])
}

// unknown is the error of a key that is none of the members.
func (k *keySet) unknown(name string) error {
	name = k.path + name
	err := knob.Errorf("key %q is in none of the rows that were looked at first: look at more (%s)", name,
		knob.Name("dataset.JSON.SampleRows"))
	if k.isPart {
		return err
	}
	return knob.Errorf("%w, or give its type (%s %s)", err, types, fields.Setting(name, "VARCHAR"))
}

// key looks up the key at p, and returns where its value is. previous is the member before; that of a key that is
// passed over is the number of members.
func (s *scanner) key(k *keySet, follows []int32, p int, previous int32) (value int, member int32) {
	if s.text[p] != '"' {
		return s.fail(p, errKey), 0
	}
	end := s.str(p + 1)
	if end == failed {
		return failed, 0
	}
	member, known := k.places[string(s.text[p+1:end])]
	if s.escaped {
		member, known = k.places[nameOf(s.text[p+1:end], true)]
	}
	switch {
	case known:
		follows[previous] = member
	case !k.given:
		return s.fail(p, k.unknown(nameOf(s.text[p+1:end], s.escaped))), 0
	default:
		member = int32(len(k.names))
	}
	return s.colon(end + 1), member
}

// object says which columns of a file are the values of members of objects: of rows, or of their members.
type object struct {
	keySet
	columns []int32   // by member: the column, or -1
	inner   []*object // by member: what the objects are whose members are columns; nil of others
}

// newObject returns the object of some members. joint is what all samples say of them, which ends where an option gives
// a type; own is what the file's sample says.
func newObject(all []arrow.Field, joint, own *members, path string, given bool) *object {
	o := &object{keySet: newKeySet(all, own, path, given)}
	o.columns, o.inner = make([]int32, len(all)), make([]*object, len(all))
	for i, f := range all {
		o.columns[i] = -1
		of, isStruct := f.Type.(*arrow.StructType)
		if !isStruct {
			continue
		}
		var jointMembers, ownMembers *members
		g := joint.find(f.Name)
		isGiven := g == nil || g.given != nil
		if !isGiven {
			jointMembers = g.members
		}
		if g := own.find(f.Name); g != nil {
			ownMembers = g.members
		}
		o.inner[i] = newObject(of.Fields(), jointMembers, ownMembers, path+f.Name+".", isGiven)
	}
	return o
}

// place notes which column has the values at a path.
func (o *object) place(path []int, column int32) {
	for ; len(path) > 1; path = path[1:] {
		o = o.inner[path[0]]
	}
	o.columns[path[0]] = column
}

// namesAt returns the names of a path.
func (o *object) namesAt(path []int) (names []string) {
	for _, i := range path {
		names = append(names, o.names[i])
		o = o.inner[i]
	}
	return names
}

// wanted is an object in which a splitter finds columns.
type wanted struct {
	*object
	follows []int32   // by member, and last for none: the member whose key came next the last time
	slots   []int32   // by member: index in spans; unwanted, or onlyInner; the last is unwanted
	inner   []*wanted // by member: nil where no column is in its objects; the last is nil
	serial  int       // index in seen of the object
}

// The slots of members that are no column.
const (
	unwanted  = -1
	onlyInner = -2 // columns are in its objects
)

// want returns what a splitter finds in objects, by the columns that are wanted; nil of members without any. seen is
// how many places in seen have been given away.
func (o *object) want(slots map[int32]int32, seen *int) *wanted {
	n := len(o.names)
	w := &wanted{object: o, slots: make([]int32, n+1), inner: make([]*wanted, n+1)}
	any := false
	for i := range n {
		if o.inner[i] != nil {
			w.inner[i] = o.inner[i].want(slots, seen)
		}
		slot, ok := slots[o.columns[i]]
		switch {
		case ok:
			w.slots[i] = slot
		case w.inner[i] != nil:
			w.slots[i] = onlyInner
		default:
			w.slots[i] = unwanted
		}
		any = any || w.slots[i] != unwanted
	}
	w.slots[n] = unwanted
	if !any && o.path != "" {
		return nil // the values are not looked into
	}
	w.follows = o.newFollows()
	w.serial = *seen
	*seen++
	return w
}
