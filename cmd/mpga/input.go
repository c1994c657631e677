package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine/scan"
)

// inputFlags say how files are read.
type inputFlags struct {
	format    string
	delimiter string
	quote     string
	header    string
	nulls     []string
	types     []string
	noHive    bool
}

func (f *inputFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "input-format", "auto", "of the files: `WORD` is auto (by the ending, then by the content), parquet, arrow, arrows (a stream), csv or tsv")
	flags.StringVar(&f.delimiter, "delimiter", "", "`CHAR` between the fields of CSV, \\t for a tab; found in the text when not given")
	flags.StringVar(&f.quote, "quote", `"`, "`CHAR` around fields of CSV that need it; empty when there is none")
	flags.StringVar(&f.header, "header", "auto", "whether CSV begins with column names: `WORD` is auto, yes or no")
	flags.StringArrayVar(&f.nulls, "null", nil, "a field of CSV that is `TEXT` is NULL, in place of the empty one; may be repeated")
	flags.StringArrayVar(&f.types, "type", nil, "type of a column of CSV: `COLUMN=TYPE`, as in zip=string; may be repeated")
	flags.BoolVar(&f.noHive, "no-hive", false, "take folders named key=value for folders, not for columns")
}

// options turns the flags into options; reading stdin ends when ctx does.
func (f *inputFlags) options(ctx context.Context, stdin io.Reader) (scan.Options, error) {
	opt := scan.Options{
		Stdin:  &interruptibleReader{ctx: ctx, from: stdin},
		NoHive: f.noHive,
		CSV:    scan.CSVOptions{NullStrings: f.nulls},
	}
	if f.format != "auto" {
		opt.Format = scan.Format(strings.ToLower(f.format))
	}
	var err error
	if opt.CSV.Delimiter, err = oneByte("delimiter", f.delimiter); err != nil {
		return opt, err
	}
	if opt.CSV.Quote, err = oneByte("quote", f.quote); err != nil {
		return opt, err
	}
	opt.CSV.NoQuote = f.quote == ""
	switch f.header {
	case "auto":
		opt.CSV.Header = scan.HeaderAuto
	case "yes":
		opt.CSV.Header = scan.HeaderYes
	case "no":
		opt.CSV.Header = scan.HeaderNo
	default:
		return opt, usagef("--header %q: want auto, yes or no", f.header)
	}
	if opt.CSV.Types, err = columnTypes(f.types); err != nil {
		return opt, err
	}
	opt.EnsureDefaults()
	if err := opt.Validate(); err != nil {
		return opt, usageError{err}
	}
	return opt, nil
}

// oneByte reads a flag that is one character or empty.
func oneByte(flag, text string) (byte, error) {
	switch {
	case text == "":
		return 0, nil
	case text == `\t`, text == "tab":
		return '\t', nil
	case len(text) > 1:
		return 0, usagef("--%s %q: want one ASCII character", flag, text)
	}
	return text[0], nil
}

// columnTypes reads column=type; a column's name may have an equals sign, a type's has none.
func columnTypes(texts []string) (map[string]arrow.DataType, error) {
	types := make(map[string]arrow.DataType, len(texts))
	for _, text := range texts {
		i := strings.LastIndexByte(text, '=')
		if i < 1 {
			return nil, usagef("--type %q: want column=type, as in zip=string", text)
		}
		t, err := parseType(text[i+1:])
		if err != nil {
			return nil, usagef("--type %q: %w", text, err)
		}
		types[text[:i]] = t
	}
	return types, nil
}

// typesByName are the names of Arrow's types and of SQL's.
var typesByName = map[string]arrow.DataType{
	"bool": arrow.FixedWidthTypes.Boolean, "boolean": arrow.FixedWidthTypes.Boolean,
	"int8": arrow.PrimitiveTypes.Int8, "tinyint": arrow.PrimitiveTypes.Int8,
	"int16": arrow.PrimitiveTypes.Int16, "smallint": arrow.PrimitiveTypes.Int16,
	"int32": arrow.PrimitiveTypes.Int32, "int": arrow.PrimitiveTypes.Int32, "integer": arrow.PrimitiveTypes.Int32,
	"int64": arrow.PrimitiveTypes.Int64, "bigint": arrow.PrimitiveTypes.Int64,
	"uint8": arrow.PrimitiveTypes.Uint8, "utinyint": arrow.PrimitiveTypes.Uint8,
	"uint16": arrow.PrimitiveTypes.Uint16, "usmallint": arrow.PrimitiveTypes.Uint16,
	"uint32": arrow.PrimitiveTypes.Uint32, "uinteger": arrow.PrimitiveTypes.Uint32,
	"uint64": arrow.PrimitiveTypes.Uint64, "ubigint": arrow.PrimitiveTypes.Uint64,
	"float32": arrow.PrimitiveTypes.Float32, "float": arrow.PrimitiveTypes.Float32, "real": arrow.PrimitiveTypes.Float32,
	"float64": arrow.PrimitiveTypes.Float64, "double": arrow.PrimitiveTypes.Float64,
	"string": arrow.BinaryTypes.String, "utf8": arrow.BinaryTypes.String, "text": arrow.BinaryTypes.String, "varchar": arrow.BinaryTypes.String,
	"date": arrow.FixedWidthTypes.Date32, "time": arrow.FixedWidthTypes.Time64us,
	"timestamp":   &arrow.TimestampType{Unit: arrow.Microsecond},
	"timestamptz": &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
}

var decimalType = regexp.MustCompile(`^decimal\( *(\d+) *, *(\d+) *\)$`)

// parseType reads the name of a type; decimals are decimal(precision, scale).
func parseType(name string) (arrow.DataType, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	if t, ok := typesByName[name]; ok {
		return t, nil
	}
	if m := decimalType.FindStringSubmatch(name); m != nil {
		precision, errP := strconv.ParseInt(m[1], 10, 32)
		scale, errS := strconv.ParseInt(m[2], 10, 32)
		if errP != nil || errS != nil || precision < 1 || precision > 38 || scale > precision {
			return nil, fmt.Errorf("%s: the precision must be in [1, 38], the scale in [0, precision]", name)
		}
		return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}, nil
	}
	return nil, fmt.Errorf("unknown type %q: want bool, int8 to int64, uint8 to uint64, float, double, string, date, time, timestamp or decimal(p, s)", name)
}
