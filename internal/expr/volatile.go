package expr

import (
	crand "crypto/rand"
	endian "encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/nested"
)

// drawings are the functions that have another value for each row: no node of them is a constant, and each call that is
// written has values of its own.
func drawings() []Function {
	list := []Function{
		function("random", "", "a number from 0 to less than 1, another for each row", "random() < 1", "true",
			drawn(typeOf(Float64), func(v *vector, i int) { v.floats[i] = rand.Float64() })),
		function("uuid", "", "a random UUID (version 4), another for each row", "length(uuid()::VARCHAR)", "36",
			drawn(uuidType, func(v *vector, i int) { v.texts[i] = namedText(newUUID(4, 0)) }), "gen_random_uuid", "uuidv4"),
		function("uuidv7", "", "a UUID (version 7), which begins with the time", "uuid_extract_version(uuidv7())", "7",
			drawn(uuidType, func(v *vector, i int) { v.texts[i] = namedText(newUUID(7, time.Now().UnixMilli())) })),
	}
	for i := range list {
		list[i].isDrawn = true
	}
	return list
}

// uuidFunctions are the functions of a UUID.
func uuidFunctions() []Function {
	return []Function{
		function("uuid_extract_version", "u", "the version of a UUID",
			"uuid_extract_version('019482e4-1441-7aad-8127-eec99573b0a0'::UUID)", "7", versionOfUUID),
		function("uuid_extract_timestamp", "u", "the time that a UUID of version 7 begins with",
			"uuid_extract_timestamp('019482e4-1441-7aad-8127-eec99573b0a0'::UUID)", "2025-01-20 08:46:13.057+00",
			timeOfUUID),
	}
}

// drawn binds a function that has a value of its own for each row.
func drawn(t Type, draw func(v *vector, i int)) binding {
	return func(_ *binder, n *node) {
		n.typ, n.drawn = t, true
		n.eval = func(f *frame) (*vector, error) {
			v := f.e.vector(t.kind(), f.n)
			for i := range f.n {
				draw(v, i)
			}
			return v, nil
		}
	}
}

// IsDrawn says whether a part of an expression has another value for each row, whatever the columns are.
func (e *Expr) IsDrawn() bool { return e.First((*Expr).draws) != nil }

// draws says whether an expression is a call of a function of drawn.
func (e *Expr) draws() bool {
	if e.Op != OpCall {
		return false
	}
	f := functionsByName[e.Name]
	return f != nil && f.isDrawn
}

// Tell tells a call of a function of drawn from others that are written as it is; it changes no other expression.
func (e *Expr) Tell(number int64) {
	if e.draws() {
		e.Value = number
	}
}

// newUUID returns a random UUID of a version; one of version 7 begins with milliseconds since 1970.
func newUUID(version byte, millis int64) string {
	var u [uuidBytes]byte
	_, _ = crand.Read(u[:]) // which has no error
	if version == 7 {
		var at [8]byte
		endian.BigEndian.PutUint64(at[:], uint64(millis))
		copy(u[:6], at[2:])
	}
	u[6] = u[6]&0x0F | version<<4
	u[8] = u[8]&0x3F | 0x80
	return string(u[:])
}

func (b *binder) wantUUID(n *node) {
	if a := n.args[0]; a.typ != uuidType && a.typ.ID != Text && !isNull(a) {
		b.mismatch(n)
	}
	n.fallible = true
	b.castArg(n, 0, uuidType)
}

func versionOfUUID(b *binder, n *node) {
	b.wantUUID(n)
	n.typ = typeOf(Uint32)
	n.eval = map1e(n, func(s string) (int64, error) { return int64(nested.TextOf(s)[6] >> 4), nil })
}

func timeOfUUID(b *binder, n *node) {
	b.wantUUID(n)
	n.typ = typeOf(TimestampTZ)
	n.eval = map1e(n, func(s string) (int64, error) {
		u := []byte(nested.TextOf(s))
		if version := u[6] >> 4; version != 7 {
			return 0, query.Valuef("%s: a UUID of version %d has no time; want version 7", n.text, version)
		}
		return int64(endian.BigEndian.Uint64(u)>>16) * 1000, nil
	})
}
