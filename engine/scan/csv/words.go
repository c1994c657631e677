package csv

import (
	"fmt"
	"slices"
	"strings"
)

// ParseChar reads one ASCII character. "\t" and "tab" are a tab, an empty text is 0.
func ParseChar(text string) (byte, error) {
	switch {
	case text == "":
		return 0, nil
	case text == `\t`, text == "tab":
		return '\t', nil
	case len(text) > 1:
		return 0, fmt.Errorf("%q: want one ASCII character", text)
	}
	return text[0], nil
}

var headersByName = map[string]Header{"": HeaderAuto, "auto": HeaderAuto, "yes": HeaderYes, "no": HeaderNo}

// ParseHeader reads auto, yes or no; an empty text is auto.
func ParseHeader(word string) (Header, error) {
	if header, ok := headersByName[word]; ok {
		return header, nil
	}
	return 0, fmt.Errorf("%q: want auto, yes or no", word)
}

// encodingsByName are the names of encodings, and other names that people give them.
var encodingsByName = map[string]Encoding{
	"": EncodingAuto, "auto": EncodingAuto, "utf8": EncodingUTF8, "utf16": EncodingUTF16,
	"latin1": EncodingLatin1, "iso-8859-1": EncodingLatin1, "cp1252": EncodingWindows1252,
}

// ParseEncoding reads the name of an encoding, in any case; an empty text is auto.
func ParseEncoding(name string) (Encoding, error) {
	name = strings.ToLower(name)
	if e, ok := encodingsByName[name]; ok {
		return e, nil
	}
	if slices.Contains(encodingNames, name) {
		return Encoding(name), nil
	}
	return "", fmt.Errorf("%q: want auto, %s", name, strings.Join(encodingNames, ", "))
}
