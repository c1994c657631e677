// Package charttest reads pages and pictures, for tests.
package charttest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// Page is what a page has: elements by name, and all text.
type Page struct {
	Elements map[string]int
	Text     string
}

// Parse reads a page, which is HTML that is well-formed XML, too.
func Parse(t testing.TB, p interface{ Write(io.Writer) error }) Page {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	out := Page{Elements: map[string]int{}}
	var text strings.Builder
	d := xml.NewDecoder(&b)
	d.Entity = xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			out.Elements[token.Name.Local]++
			for _, a := range token.Attr {
				if strings.Contains(a.Value, "%!") {
					t.Errorf("%s of %s: %s", a.Name.Local, token.Name.Local, a.Value)
				}
				value := strings.ToLower(a.Value)
				isWeb := strings.Contains(value, "http:") || strings.Contains(value, "https:")
				if isWeb && a.Name.Local != "xmlns" {
					t.Errorf("%s of the web: %s", a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			text.Write(token)
		}
	}
	out.Text = text.String()
	return out
}
