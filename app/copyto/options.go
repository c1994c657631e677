package copyto

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/nearest"
)

// option is an option of COPY, by DuckDB's name of it or, where DuckDB has none, by the name that a job has.
type option struct {
	knob knob.Name // the field of sink.Options that it sets
	set  func(o *sink.Options, values []string) error
}

// options are all options, by their names.
var options = map[string]option{
	"FORMAT": {"sink.Format", func(o *sink.Options, values []string) (err error) {
		name, err := one(values)
		if err == nil {
			o.Format, err = sink.ParseFormat(name)
		}
		if err == nil && (o.Format == sink.Table || o.Format == sink.Vertical) {
			err = fmt.Errorf("%s shows the first rows, and COPY writes all", o.Format)
		}
		return err
	}},
	"PARTITION_BY": {"sink.PartitionBy", func(o *sink.Options, values []string) error {
		if len(values) == 0 {
			return fmt.Errorf("want names of columns: PARTITION_BY (a, b)")
		}
		o.PartitionBy = values
		return nil
	}},
	"OVERWRITE":         {"sink.Overwrite", flag(func(o *sink.Options) *bool { return &o.Overwrite }, false)},
	"MANIFEST":          {"sink.Manifest", flag(func(o *sink.Options) *bool { return &o.Manifest }, false)},
	"HEADER":            {"sink.NoHeader", flag(func(o *sink.Options) *bool { return &o.NoHeader }, true)},
	"MAX_ROWS_PER_FILE": {"sink.MaxRowsPerFile", number(func(o *sink.Options) *int64 { return &o.MaxRowsPerFile })},
	"ROW_GROUP_SIZE":    {"sink.RowGroupRows", number(func(o *sink.Options) *int64 { return &o.RowGroupRows })},
	"COMPRESSION":       {"sink.Codec", setCodec},
	"COMPRESSION_LEVEL": {"sink.Level", func(o *sink.Options, values []string) error {
		level := int64(o.Level)
		err := number(func(*sink.Options) *int64 { return &level })(o, values)
		o.Level = int(level)
		return err
	}},
	"LAYOUT": {"sink.Layout", func(o *sink.Options, values []string) (err error) {
		o.Layout, err = one(values)
		return err
	}},
	"DELIMITER": {"sink.Delimiter", func(o *sink.Options, values []string) error {
		text, err := one(values)
		if err == nil && len(text) != 1 {
			err = fmt.Errorf("%q: want one ASCII character", text)
		}
		if err == nil {
			o.Delimiter = text[0]
		}
		return err
	}},
}

// otherNames are further names of options.
var otherNames = map[string]string{"CODEC": "COMPRESSION", "DELIM": "DELIMITER", "SEP": "DELIMITER"}

// advice says what to write in place of options that DuckDB has and mpga does not.
var advice = map[string]string{
	"APPEND":                  "files are not added to a directory; write another one",
	"OVERWRITE_OR_IGNORE":     "OVERWRITE replaces the directory with all that it has",
	"FILE_SIZE_BYTES":         "MAX_ROWS_PER_FILE bounds files",
	"PER_THREAD_OUTPUT":       "MAX_ROWS_PER_FILE makes several files",
	"WRITE_PARTITION_COLUMNS": "the folders have the values of PARTITION_BY",
	"PRESERVE_ORDER":          "ORDER BY in the statement makes an order",
	"USE_TMP_FILE":            "a file appears under its name when it is complete",
}

// textEndings are the codecs of text by DuckDB's names, and the endings of paths that mpga writes them for.
var textEndings = map[string]string{"gzip": ".gz", "zstd": ".zst"}

// setCodec sets the codec of Parquet and Arrow; of text the ending of the path has it, which checkCodec looks at.
func setCodec(o *sink.Options, values []string) (err error) {
	o.Codec, err = one(values)
	o.Codec = strings.ToLower(o.Codec)
	if o.Codec == "uncompressed" {
		o.Codec = "none"
	}
	return err
}

// one returns the only value of an option.
func one(values []string) (string, error) {
	if len(values) != 1 {
		return "", fmt.Errorf("want one value, not %d", len(values))
	}
	return values[0], nil
}

// number returns the setter of a number of rows, and the like.
func number(field func(*sink.Options) *int64) func(*sink.Options, []string) error {
	return func(o *sink.Options, values []string) error {
		text, err := one(values)
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return fmt.Errorf("%s: want a number, 1 or more", text)
		}
		*field(o) = n
		return nil
	}
}

// flag returns the setter of a switch, which is on where the word stands alone.
func flag(field func(*sink.Options) *bool, inverted bool) func(*sink.Options, []string) error {
	return func(o *sink.Options, values []string) error {
		on := true
		if len(values) > 0 {
			text, err := one(values)
			if err != nil {
				return err
			}
			if text == "on" || text == "off" {
				text = strconv.FormatBool(text == "on")
			}
			if on, err = strconv.ParseBool(text); err != nil {
				return fmt.Errorf("%s: want true or false", text)
			}
		}
		*field(o) = on != inverted
		return nil
	}
}

// Options returns the options of a COPY: base with what the statement says of the files. Errors point at the text.
func Options(c *sql.Copy, base sink.Options) (sink.Options, error) {
	o := base
	if sink.IsStdout(c.To) {
		return o, c.Query.ErrorAt(c.At, "COPY writes files, and the standard output has the count of the rows; "+
			"SELECT writes rows there: --format csv")
	}
	for _, given := range c.Options {
		name := given.Name
		if other := otherNames[name]; other != "" {
			name = other
		}
		known, ok := options[name]
		if !ok {
			return o, c.Query.ErrorAt(given.At, "not supported: "+given.Name+" of COPY"+offer(given.Name))
		}
		if err := known.set(&o, given.Values); err != nil {
			return o, c.Query.ErrorAt(given.At, given.Name+": "+knob.Reword(err, word).Error())
		}
	}
	err := settleFormat(c, &o)
	if err == nil {
		err = checkText(c, &o)
	}
	if err != nil {
		return o, c.Query.ErrorAt(c.At, knob.Reword(err, word).Error())
	}
	return o, nil
}

// settleFormat sets the format that the path says, where the statement says none. A directory is of Parquet.
func settleFormat(c *sql.Copy, o *sink.Options) (err error) {
	switch {
	case o.Format != "":
		return nil
	case o.Directory() && filepath.Ext(c.To) == "":
		o.Format = sink.Parquet
		return nil
	}
	if o.Format, err = sink.FormatOf(c.To); err == nil && o.Format == sink.Table {
		err = fmt.Errorf("%s has no ending that says a format: write FORMAT", c.To)
	}
	return err
}

// checkText refuses options of text for other formats, and a codec that the ending of the path does not say.
func checkText(c *sql.Copy, o *sink.Options) error {
	isCSV := o.Format == sink.CSV || o.Format == sink.TSV
	for _, given := range c.Options {
		isText := given.Name == "HEADER" || options[given.Name].knob == "sink.Delimiter" ||
			otherNames[given.Name] == "DELIMITER"
		switch {
		case isText && !isCSV:
			return fmt.Errorf("%s is of csv and tsv; write FORMAT csv", given.Name)
		case given.Name == "ROW_GROUP_SIZE" && o.Format != sink.Parquet:
			return fmt.Errorf("%s is of parquet, not of %s", given.Name, o.Format)
		}
	}
	if !slices.Contains([]sink.Format{sink.CSV, sink.TSV, sink.JSON, sink.Markdown}, o.Format) || o.Codec == "" {
		return nil
	}
	ending, known := textEndings[o.Codec]
	switch has := strings.HasSuffix(strings.ToLower(c.To), ".gz") || strings.HasSuffix(strings.ToLower(c.To), ".zst"); {
	case known && o.Directory():
		return fmt.Errorf("%s is compressed by the ending of its path, which a directory's files have not", o.Format)
	case known && !strings.HasSuffix(strings.ToLower(c.To), ending):
		return fmt.Errorf("%s is compressed by %s where its path ends in %s", o.Format, o.Codec, ending)
	case !known && (o.Codec != "none" && o.Codec != "auto" || o.Codec == "none" && has):
		return fmt.Errorf("COMPRESSION %s: %s is compressed by the ending of its path, .gz or .zst", o.Codec, o.Format)
	}
	o.Codec = ""
	return nil
}

// offer says what to write in place of an option that is not there.
func offer(name string) string {
	if why := advice[name]; why != "" {
		return ": " + why
	}
	names := slices.Sorted(maps.Keys(options))
	if near := nearest.Offer(name, names); near != "" {
		return near
	}
	return "; there are " + strings.Join(names, ", ")
}

// word returns the option of COPY that sets a field of sink.Options.
func word(n knob.Name) string {
	for name, o := range options {
		if o.knob == n {
			return name
		}
	}
	return n.String()
}
