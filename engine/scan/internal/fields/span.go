package fields

// Span is where a field is in a buffer, without the quotes around. The two top bits of End are
// flags, so that a span takes 8 B.
type Span struct{ Start, End uint32 }

// The flags of a span.
const (
	Quoted  = 1 << 31 // was in quotes
	Escaped = 1 << 30 // has escapes: what is there is not the field's text
	Missing = Escaped // without Quoted: the row has no such field
	EndMask = Escaped - 1
)

// Slack is how many bytes behind a field may be read, whatever they hold.
const Slack = 16

// Unescape appends a field to dst with the characters that its escapes stand for, which are no
// longer than the escapes.
type Unescape func(dst, field []byte) []byte

// IsQuoted says whether the field was in quotes.
func (s Span) IsQuoted() bool { return s.End&Quoted != 0 }

// MissingAt is a field that a row does not have, which ends at an offset.
func MissingAt(end uint32) Span { return Span{end, end | Missing} }

func (s Span) isMissing() bool { return s.End&(Quoted|Escaped) == Missing }

// length returns how many bytes a field takes in the buffer; a number above the length of any field
// where the field has escapes.
func (s Span) length() uint32 { return s.End&^Quoted - s.Start }

// Bytes returns the field; where it has escapes, it is made in scratch, which the result may share.
func (s Span) Bytes(buf []byte, unescape Unescape, scratch *[]byte) []byte {
	field := buf[s.Start : s.End&EndMask]
	if s.End&Escaped == 0 {
		return field
	}
	*scratch = unescape((*scratch)[:0], field)
	return *scratch
}
