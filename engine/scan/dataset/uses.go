package dataset

import (
	"cmp"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/internal/knob"
)

// uses are the formats that use an option, by the fields of Options; CSV and JSON are all their fields that are not
// named. FormatCSV stands for FormatTSV, too, and FormatArrow for FormatArrowStream. Other fields are used by all
// formats, or say themselves where they cannot be.
var uses = map[string][]Format{
	"NoHive":             {FormatCSV, FormatJSON, FormatParquet, FormatArrow},
	"UnionByName":        {FormatCSV, FormatJSON, FormatParquet, FormatArrow},
	"DistrustStatistics": {FormatParquet, FormatDelta, FormatIceberg},
	"Version":            {FormatDelta, FormatIceberg},
	"Snapshot":           {FormatIceberg},
	"AsOf":               {FormatDelta, FormatIceberg},
	"CSV":                {FormatCSV},
	"CSV.Types":          {FormatCSV, FormatJSON}, // JSON has its own, which users set together with it
	"CSV.SampleRows":     {FormatCSV, FormatJSON},
	"JSON":               {FormatJSON},
	"JSON.Types":         {FormatCSV, FormatJSON},
	"JSON.SampleRows":    {FormatCSV, FormatJSON},
}

// titles are the names of formats in errors.
var titles = map[Format]string{
	FormatCSV: "CSV", FormatJSON: "JSON", FormatParquet: "Parquet", FormatArrow: "Arrow",
	FormatDelta: "Delta", FormatIceberg: "Iceberg",
}

// Readers notes the formats of the tables that are opened with the same options, so that an option may be for some of
// the tables. The zero value has noted none. Safe for concurrent use.
type Readers struct {
	mu    sync.Mutex
	named map[Format]string // a file or table of each format
	any   bool              // tables were not opened, and may be of each format
}

// AddUnopened notes a table that is known without being opened, and may be of each format.
func (r *Readers) AddUnopened() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.any = true
}

func (r *Readers) add(name string, format Format) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.named == nil {
		r.named = map[Format]string{}
	}
	if _, known := r.named[format]; !known {
		r.named[format] = name
	}
}

// Check refuses options that are set, and that no table uses which was opened. No table at all is no error.
func (r *Readers) Check(opt *Options) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.named) == 0 || r.any {
		return nil
	}
	set, unset := *opt, Options{Format: opt.Format}
	set.EnsureDefaults()
	unset.EnsureDefaults()
	return r.checkFields("", reflect.ValueOf(set), reflect.ValueOf(unset))
}

// checkFields checks the fields of a struct of options, the last first: InferMost implies IgnoreErrors, and is the one
// that was asked for.
func (r *Readers) checkFields(at string, opt, unset reflect.Value) error {
	for i := opt.NumField() - 1; i >= 0; i-- {
		field, value, none := opt.Type().Field(i), opt.Field(i), unset.Field(i)
		formats, isNamed := uses[at+field.Name]
		if outer, _, isWithin := strings.Cut(at, "."); isWithin && !isNamed {
			formats = uses[outer]
		}
		switch kind := value.Kind(); {
		case len(formats) == 0 || kind == reflect.Pointer, r.hasAny(formats):
		case kind == reflect.Struct:
			if err := r.checkFields(field.Name+".", value, none); err != nil {
				return err
			}
		case kind == reflect.Map && value.Len() == 0, reflect.DeepEqual(value.Interface(), none.Interface()):
		default:
			return r.refuse(knob.Name("dataset."+at+field.Name), formats)
		}
	}
	return nil
}

func (r *Readers) hasAny(formats []Format) bool {
	return slices.ContainsFunc(formats, func(f Format) bool { return r.named[f] != "" })
}

// refuse returns the error of an option that no table uses.
func (r *Readers) refuse(option knob.Name, users []Format) error {
	var of, are []string
	for _, f := range formats {
		title := titles[f]
		if slices.Contains(users, f) {
			of = append(of, title)
		}
		if f == FormatDelta || f == FormatIceberg {
			title = "a table of " + title
		}
		if name, ok := r.named[f]; ok {
			are = append(are, name+" is "+title)
		}
	}
	return knob.Errorf("%s is of %s, and %s", option, strings.Join(of, ", "), strings.Join(are, ", "))
}

// checkUse notes the format of each file or table that was opened, by its name, and refuses options that none uses:
// where the options are for several tables, Readers.Check does.
func (o *Options) checkUse(opened iter.Seq2[string, Format]) error {
	readers := cmp.Or(o.Readers, &Readers{})
	for name, format := range opened {
		if name == decode.StdinName {
			name = "standard input"
		}
		readers.add(name, format)
	}
	if o.Readers != nil {
		return nil
	}
	return readers.Check(o)
}
