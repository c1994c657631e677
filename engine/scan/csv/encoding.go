package csv

import (
	"bufio"
	"bytes"
	"io"
	"slices"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Encoding is how a text is written in bytes.
type Encoding string

// The encodings. EncodingAuto is UTF-8, or UTF-16 where a text begins with its byte order mark;
// EncodingUTF16 goes by that mark, too, and is UTF-16LE without it.
const (
	EncodingAuto        Encoding = ""
	EncodingUTF8        Encoding = "utf-8"
	EncodingUTF16       Encoding = "utf-16"
	EncodingUTF16LE     Encoding = "utf-16le"
	EncodingUTF16BE     Encoding = "utf-16be"
	EncodingLatin1      Encoding = "latin-1"
	EncodingWindows1252 Encoding = "windows-1252"
)

// EncodingNames returns the names of all encodings, without auto.
func EncodingNames() []string { return slices.Clone(encodingNames) }

// encodingNames are the names of all encodings, as the help lists them.
var encodingNames = []string{"utf-8", "utf-16", "utf-16le", "utf-16be", "latin-1", "windows-1252"}

// encodings are the decoders to UTF-8; nil where a text is UTF-8 already.
var encodings = map[Encoding]encoding.Encoding{
	EncodingAuto:        nil,
	EncodingUTF8:        nil,
	EncodingUTF16:       unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
	EncodingUTF16LE:     unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
	EncodingUTF16BE:     unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
	EncodingLatin1:      charmap.ISO8859_1,
	EncodingWindows1252: charmap.Windows1252,
}

// settle returns the encoding of a text, given its first bytes.
func (e Encoding) settle(head []byte) Encoding {
	if e == EncodingAuto && (bytes.HasPrefix(head, []byte{0xFF, 0xFE}) || bytes.HasPrefix(head, []byte{0xFE, 0xFF})) {
		return EncodingUTF16
	}
	return e
}

// isUTF8 says whether a text needs no decoder.
func (e Encoding) isUTF8() bool { return encodings[e] == nil }

// failed is a reader that has ended, or met an error.
type failed struct{ err error }

// Read implements io.Reader.
func (f failed) Read([]byte) (int, error) { return 0, f.err }

// peeked returns the first bytes of a text, and the text with these bytes.
func peeked(text io.Reader, bytesMax int) (head []byte, whole io.Reader) {
	buffered := bufio.NewReaderSize(text, max(bytesMax, 4<<10))
	head, err := buffered.Peek(bytesMax)
	if err != nil { // who reads on gets the error, which some readers return only once
		return head, io.MultiReader(bytes.NewReader(head), failed{err})
	}
	return head, buffered
}

// decoded returns a text in UTF-8, and its encoding. What the encoding cannot have, half a
// surrogate pair of UTF-16 for one, becomes U+FFFD, the replacement character.
func decoded(text io.Reader, e Encoding) (io.Reader, Encoding) {
	if e == EncodingAuto {
		var head []byte
		head, text = peeked(text, 2)
		e = e.settle(head)
	}
	if e.isUTF8() {
		return text, e
	}
	return transform.NewReader(text, encodings[e].NewDecoder()), e
}
