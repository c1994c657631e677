// Package options is the table of what users say about how files are read: an entry for each
// option, with its names in SQL, on the command line and in the files of jobs.
//
//	read_csv('x', nullstr = 'NA')   engine/plan   Option.SQL
//	mpga sql --null NA              cmd/mpga      Option.Flag
//	input: {nulls: [NA]}            engine/job    Option.YAML
//	-> a value of the type that Kind names
//	-> Option.Set -> dataset.Options
//
// The three packages read values in their own syntax, with errors in their own words. Where an error
// names a field of dataset.Options, For has the words of its reader.
package options

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/knob"
)

// Option is an option of readers of files.
type Option struct {
	Kind    Kind
	Flag    string // without its dashes; "": neither a flag nor a field of jobs
	Default string // of the flag, where it is a text
	Doc     string // help of the flag, which names its value in `quotes`
	Not     bool   // the argument says the opposite of flag and field, which are of Kind Truth

	fields  string // what it sets, below dataset.Options; "": nothing
	sql     string // names as an argument, the usual one first; "": none
	of      string // the formats whose functions have the argument
	words   string // of the kinds Word, Switch and Fixed
	yaml    string // name of the field of jobs; "": the flag's, with _ for -
	yamlDoc string // its description; "": that of the flag, reworded

	set func(*dataset.Options, string) error // in place of fields; nil: by their types
}

// Fields returns what the option sets.
func (o *Option) Fields() (names []knob.Name) {
	for _, field := range strings.Fields(o.fields) {
		names = append(names, knob.Name("dataset."+field))
	}
	return names
}

// SQL returns the names as an argument of functions, the usual one first.
func (o *Option) SQL() []string { return strings.Fields(o.sql) }

// IsOf says whether the function that reads a format has the argument.
func (o *Option) IsOf(format dataset.Format) bool {
	return slices.Contains(strings.Fields(o.of), string(format))
}

// YAML returns the name of the field of jobs.
func (o *Option) YAML() string { return cmp.Or(o.yaml, strings.ReplaceAll(o.Flag, "-", "_")) }

// Words returns the words that a value may be: of Switch, the last two are yes and no; of Fixed, the
// one is SQL's constant.
func (o *Option) Words() []string { return strings.Fields(o.words) }

// Kind says what an option's value is.
type Kind uint8

// The kinds, each with the type of a value that Set takes.
const (
	Char       Kind = iota // string: an ASCII character
	CharOrNone             // string: an ASCII character, or none
	Text                   // string
	Texts                  // []string
	Mark                   // string: a text, or a whole number
	Word                   // string: one of Words
	Switch                 // string: one of Words; a truth value in SQL
	Truth                  // bool
	Number                 // int from 0 on
	Rows                   // int from 1 on; -1: all
	Size                   // int of bytes, from 1 on
	Types                  // Columns
	Fixed                  // nothing: SQL takes the one constant that Words has
	File                   // nothing: the file that CSV.Rejects is written to, by whoever reads
)

// Columns are names of columns, and types by name.
type Columns struct {
	Names []string
	Types map[string]arrow.DataType
}

// Set writes a value of the option's kind to its fields: for FormatCSV or FormatJSON without the
// other's, for FormatAuto to all.
func (o *Option) Set(opt *dataset.Options, format dataset.Format, value any) error {
	if o.set != nil {
		return o.set(opt, value.(string))
	}
	for _, name := range o.Fields() {
		path := strings.Split(string(name), ".")[1:]
		if len(path) == 2 && format != dataset.FormatAuto && !strings.EqualFold(path[0], string(format)) {
			continue
		}
		field := reflect.ValueOf(opt).Elem()
		for _, part := range path {
			field = field.FieldByName(part)
		}
		if err := assign(field.Addr().Interface(), value); err != nil {
			return err
		}
	}
	return nil
}

// assign writes a value to a field by its pointer.
func assign(field, value any) (err error) {
	text, _ := value.(string)
	columns, isColumns := value.(Columns)
	switch field := field.(type) {
	case *byte:
		*field, err = csv.ParseChar(text)
	case *csv.Header:
		*field, err = csv.ParseHeader(text)
	case *csv.Encoding:
		*field, err = csv.ParseEncoding(text)
	case *dataset.Format:
		if *field = dataset.Format(strings.ToLower(text)); *field == auto {
			*field = dataset.FormatAuto
		}
	case *map[string]arrow.DataType:
		*field = columns.Types
	case *[]string:
		if *field = columns.Names; !isColumns {
			*field = value.([]string)
		}
	default:
		reflect.ValueOf(field).Elem().Set(reflect.ValueOf(value))
	}
	return err
}

// For returns the option that sets a field, nil where there is none.
func For(name knob.Name) *Option {
	for _, o := range table {
		if slices.Contains(o.Fields(), name) {
			return o
		}
	}
	return nil
}

// asYAML makes the description of a field from the help of a flag.
var asYAML = strings.NewReplacer("`CHAR`", "character", "`WORD`", "the value",
	"`FORMAT`", "a format", "`BYTES`", "bytes", "`", "")

// YAMLDoc returns the description of the field, in sentences.
func (o *Option) YAMLDoc() string {
	if o.yamlDoc != "" {
		return o.yamlDoc
	}
	text := asYAML.Replace(o.Doc)
	text = strings.ToUpper(text[:1]) + text[1:] + "."
	if o.Default != "" {
		text += fmt.Sprintf(" The default is %q.", o.Default)
	}
	return text
}
