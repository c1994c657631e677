package job

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"go.yaml.in/yaml/v4"
)

// ParseOptions are what a file is read with. The zero value is usable.
type ParseOptions struct {
	// Set replaces values of the file's variables.
	Set map[string]string

	// Getenv looks up what the file lists as environment. The default is os.LookupEnv.
	Getenv func(string) (string, bool)

	// Date is the moment that ${date} and its like tell, in its own time zone.
	// The default is now, in UTC.
	Date time.Time
}

// fileBytesMax bounds a job's file: a larger one is not a job.
const fileBytesMax = 1 << 20

// Load reads a job's file. Errors of the file are of type Errors.
func Load(path string, opt ParseOptions) (*Job, error) {
	text, err := readText(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text, opt)
}

// readText returns the text of a job's file.
func readText(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, fileBytesMax+1)) // a device has no size
	if err != nil {
		return nil, err
	}
	if len(text) > fileBytesMax {
		return nil, Errors{{File: path, Err: fmt.Errorf("the file has more than %s", humanize.IBytes(fileBytesMax))}}
	}
	return text, nil
}

// Parse reads the text of a job that stands in a file of the given path, and checks it. Relative
// paths in it begin at the file's folder. Errors are of type Errors.
func Parse(path string, text []byte, opt ParseOptions) (*Job, error) {
	if opt.Getenv == nil {
		opt.Getenv = os.LookupEnv
	}
	if opt.Date.IsZero() {
		opt.Date = time.Now().UTC()
	}
	d := newDecoder(path, text)
	root := d.tree(text)
	if len(d.errs) > 0 {
		return nil, d.errs
	}
	newVariables(d, root, &opt).expandTree(root)
	if len(d.errs) > 0 {
		return nil, d.errs
	}
	j := &Job{source: d}
	d.mapping("", root, reflect.ValueOf(j).Elem())
	if len(d.errs) > 0 {
		return nil, d.errs
	}
	if j.Name == "" {
		base := filepath.Base(path)
		j.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	j.EnsureDefaults()
	j.resolvePaths(filepath.Dir(path))
	if err := j.Validate(); err != nil {
		return nil, d.located(err)
	}
	return j, nil
}

// newDecoder returns a decoder of the text of a file.
func newDecoder(path string, text []byte) *decoder {
	return &decoder{file: path, lines: lineBreak.Split(string(text), -1), places: make(map[string]place)}
}

// lineBreak is what ends a line of YAML.
var lineBreak = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

// resolve makes a relative path begin at a folder.
func resolve(path *string, dir string) {
	if *path != "" && *path != "-" && !filepath.IsAbs(*path) && !isURL(*path) {
		*path = filepath.Join(dir, *path)
	}
}

// resolvePaths makes relative paths begin at the folder of the job's file.
func (j *Job) resolvePaths(dir string) {
	resolve := func(path *string) { resolve(path, dir) }
	resolve(&j.State)
	for i := range j.Steps {
		s := &j.Steps[i]
		for k := range s.From {
			resolve(&s.From[k])
		}
		resolve(&s.Output.Path)
		resolve(&s.Input.Rejects)
		resolve(&s.Rollup.State)
		resolve(&s.Limits.TempDir)
	}
}

// tree reads the text as one mapping without aliases.
func (d *decoder) tree(text []byte) *yaml.Node {
	if !utf8.Valid(text) {
		line := 1 + slices.IndexFunc(bytes.Split(text, []byte("\n")), func(line []byte) bool { return !utf8.Valid(line) })
		d.errs = append(d.errs, &Error{File: d.file, Line: line, Err: errors.New("the text is not UTF-8")})
		return nil
	}
	document, err := d.document(text)
	if err != nil {
		d.errs = append(d.errs, err)
		return nil
	}
	root := d.withoutAliases(document.Content[0])
	if root != nil && root.Kind != yaml.MappingNode {
		d.add("", root, fmt.Errorf("want fields such as steps:, got %s", kindOf(root)))
	}
	return root
}

// document reads the only document of the text.
func (d *decoder) document(text []byte) (*yaml.Node, *Error) {
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return nil, &Error{File: d.file, Err: err}
	}
	var first, second yaml.Node
	switch err := loader.Load(&first); {
	case errors.Is(err, io.EOF), err == nil && len(first.Content) != 1:
		return nil, &Error{File: d.file, Err: errors.New("the file is empty: a job has steps")}
	case err != nil:
		return nil, d.syntaxError(err)
	}
	switch err := loader.Load(&second); {
	case errors.Is(err, io.EOF):
		return &first, nil
	case err != nil:
		return nil, d.syntaxError(err)
	}
	return nil, &Error{File: d.file, Line: second.Line, Column: second.Column,
		Err: errors.New("a second document: a file has one job")}
}

// syntaxError is what the YAML reader says, with its place.
func (d *decoder) syntaxError(err error) *Error {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		return &Error{File: d.file, Err: err}
	}
	message := load.Message
	if load.ContextMsg != "" {
		message = load.ContextMsg + " that begins in line " + fmt.Sprint(load.ContextMark.Line) + ": " + message
	}
	at := &Error{File: d.file, Line: load.Mark.Line, Column: load.Mark.Column, Err: fmt.Errorf("not YAML: %s", message)}
	if at.Line > len(d.lines) { // the end of the text
		at.Line, at.Column = len(d.lines), 0
	}
	return at
}

// nodesMax bounds what a file grows to by its aliases, for an alias may stand for a list of
// aliases.
const nodesMax = 100_000

// withoutAliases returns a copy of the tree in which aliases are replaced by the values that they
// refer to, and << by the fields that it merges.
func (d *decoder) withoutAliases(root *yaml.Node) *yaml.Node {
	nodes, open := 0, make(map[*yaml.Node]bool)
	var copied func(n *yaml.Node) *yaml.Node
	copied = func(n *yaml.Node) *yaml.Node {
		if nodes++; nodes > nodesMax || open[n] {
			if len(d.errs) == 0 {
				d.add("", n, fmt.Errorf("aliases lead to more than %d values, or back to themselves", nodesMax))
			}
			return &yaml.Node{Kind: yaml.ScalarNode, Line: n.Line, Column: n.Column}
		}
		open[n] = true
		defer delete(open, n)
		if n.Kind == yaml.AliasNode {
			return copied(n.Alias)
		}
		c := *n
		c.Content = make([]*yaml.Node, len(n.Content))
		for i, child := range n.Content {
			c.Content[i] = copied(child)
		}
		if c.Kind == yaml.MappingNode {
			c.Content = d.merged(c.Content)
		}
		return &c
	}
	return copied(root)
}

// merged replaces << by the fields of its mappings, except fields that the mapping has itself.
func (d *decoder) merged(content []*yaml.Node) []*yaml.Node {
	var own, brought []*yaml.Node
	has := make(map[string]bool)
	for i := 0; i < len(content); i += 2 {
		if content[i].Tag != "!!merge" {
			own = append(own, content[i], content[i+1])
			has[content[i].Value] = true
		}
	}
	for i := 0; i < len(content); i += 2 {
		if content[i].Tag != "!!merge" {
			continue
		}
		from := []*yaml.Node{content[i+1]}
		if content[i+1].Kind == yaml.SequenceNode {
			from = content[i+1].Content
		}
		for _, m := range from {
			if m.Kind != yaml.MappingNode {
				d.add("", m, fmt.Errorf("<<: want fields, got %s", kindOf(m)))
				continue
			}
			for k := 0; k < len(m.Content); k += 2 {
				if key := m.Content[k].Value; !has[key] {
					has[key] = true
					brought = append(brought, m.Content[k], m.Content[k+1])
				}
			}
		}
	}
	return append(own, brought...)
}
