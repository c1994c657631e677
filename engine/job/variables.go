package job

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// variables replaces ${...} in the scalars of a file:
//
//	${name}                a variable of the file, or of the environment where the file lists it
//	${date}                the run's date; also time, year, month, day, hour
//	${date-1d}             the same, a day before; d counts days, h hours
//	${steps.NAME.output}   the path that a step writes
//	$${                    the text ${
type variables struct {
	decoder *decoder
	opt     *ParseOptions
	values  map[string]*yaml.Node // of the file
	known   []string              // every name that can be asked for
	env     []string
	outputs map[string]*yaml.Node // by step
	open    []string              // being expanded, to find circles
	failed  map[*yaml.Node]*Error
}

// dates are the variables that follow from the run's date.
var dates = map[string]string{
	"date": "2006-01-02", "time": time.RFC3339, "year": "2006", "month": "01", "day": "02", "hour": "15",
}

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	dateShift    = regexp.MustCompile(`^([a-z]+) *([+-]) *([0-9]{1,5}) *([dh])$`)
)

// newVariables collects the variables, and notes their errors.
func newVariables(d *decoder, root *yaml.Node, opt *ParseOptions) *variables {
	v := &variables{decoder: d, opt: opt, values: make(map[string]*yaml.Node),
		outputs: make(map[string]*yaml.Node), failed: make(map[*yaml.Node]*Error)}
	if list := fieldNode(root, "variables"); list != nil && list.Kind == yaml.MappingNode {
		for i := 0; i < len(list.Content); i += 2 {
			v.declare(list.Content[i], list.Content[i+1])
		}
	}
	v.known = slices.Sorted(maps.Keys(v.values))
	for _, name := range slices.Sorted(maps.Keys(opt.Set)) {
		if _, ok := v.values[name]; !ok {
			d.errs = append(d.errs, &Error{File: d.file,
				Err: fmt.Errorf("--set %s: %w", name, unknown("variable", name, v.known))})
			continue
		}
		at := v.values[name]
		v.values[name] = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Line: at.Line, Column: at.Column,
			Anchor: literalMark,
			Value:  opt.Set[name]}
	}
	v.environment(fieldNode(root, "environment"))
	v.known = append(v.known, slices.Sorted(maps.Keys(dates))...)
	if steps := fieldNode(root, "steps"); steps != nil && steps.Kind == yaml.SequenceNode {
		for _, step := range steps.Content {
			v.step(step)
		}
	}
	return v
}

// literalMark is the anchor of a value that is taken as it is.
const literalMark = "literal"

func (v *variables) declare(name, value *yaml.Node) {
	switch _, own := dates[name.Value]; {
	case !variableName.MatchString(name.Value):
		v.decoder.add("variables", name, fmt.Errorf("%q: want letters, digits and _", name.Value))
	case own:
		v.decoder.add("variables", name, fmt.Errorf("%s is set by the run: --date changes it", name.Value))
	default:
		v.values[name.Value] = value
	}
}

// environment makes the listed variables of the environment known.
func (v *variables) environment(list *yaml.Node) {
	if list == nil {
		return
	}
	items := list.Content
	if list.Kind == yaml.ScalarNode && list.Tag != "!!null" {
		items = []*yaml.Node{list}
	}
	for _, item := range items {
		if _, taken := v.values[item.Value]; taken {
			v.decoder.add("environment", item, fmt.Errorf("%s is a variable of the file, too", item.Value))
			continue
		}
		v.env = append(v.env, item.Value)
		v.known = append(v.known, item.Value)
	}
}

// step makes the output of a step known.
func (v *variables) step(step *yaml.Node) {
	stepName, output := fieldNode(step, "name"), fieldNode(step, "output")
	if output != nil && output.Kind == yaml.MappingNode {
		output = fieldNode(output, "path")
	}
	if stepName != nil && output != nil {
		v.outputs[stepName.Value] = output
		v.known = append(v.known, "steps."+stepName.Value+".output")
	}
}

// fieldNode returns a field of a mapping, or nil.
func fieldNode(n *yaml.Node, name string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

// expandTree replaces the variables in all values below a node.
func (v *variables) expandTree(n *yaml.Node) {
	switch n.Kind {
	case yaml.ScalarNode:
		if !strings.Contains(n.Value, "${") {
			return
		}
		if err := v.expand(n); err != nil && !slices.Contains(v.decoder.errs, err) {
			v.decoder.errs = append(v.decoder.errs, err)
		}
	case yaml.MappingNode:
		for i := 1; i < len(n.Content); i += 2 {
			v.expandTree(n.Content[i])
		}
	default:
		for _, child := range n.Content {
			v.expandTree(child)
		}
	}
}

// expandedBytesMax bounds a value: variables of variables double.
const expandedBytesMax = 1 << 20

// expand replaces the variables of a scalar, once. The error names the place where it can be fixed.
func (v *variables) expand(n *yaml.Node) *Error {
	if n.Anchor == literalMark || n.Anchor == expandedMark || v.failed[n] != nil {
		return v.failed[n]
	}
	text, err := v.expanded(n)
	if err != nil {
		v.failed[n] = err
		return err
	}
	n.Value, n.Tag, n.Anchor = text, "!!str", expandedMark
	return nil
}

// expanded returns a scalar's text with its variables replaced.
func (v *variables) expanded(n *yaml.Node) (string, *Error) {
	var b strings.Builder
	text := n.Value
	fail := func(at int, err error) (string, *Error) {
		e := new(Error)
		if errors.As(err, &e) {
			return "", e // of another place
		}
		e = &Error{File: v.decoder.file, Err: err}
		e.Line, e.Column = v.decoder.within(n, at)
		return "", e
	}
	for pos := 0; ; {
		i := strings.Index(text[pos:], "${")
		if i < 0 {
			return b.String() + text[pos:], nil
		}
		at := pos + i
		b.WriteString(text[pos:at])
		if strings.HasSuffix(text[pos:at], "$") { // $${ is ${
			b.WriteString("{")
			pos = at + 2
			continue
		}
		end := strings.IndexByte(text[at:], '}')
		if end < 0 {
			return fail(at, errors.New("${ without its }"))
		}
		value, err := v.lookup(strings.TrimSpace(text[at+2 : at+end]))
		if err != nil {
			return fail(at, err)
		}
		b.WriteString(value)
		if b.Len() > expandedBytesMax {
			return fail(at, fmt.Errorf("the variables make a text of more than %d bytes", expandedBytesMax))
		}
		pos = at + end + 1
	}
}

// lookup returns the value of what stands between braces.
func (v *variables) lookup(name string) (string, error) {
	node, isValue := v.values[name]
	if step, ok := strings.CutPrefix(name, "steps."); ok {
		if step, ok = strings.CutSuffix(step, ".output"); ok {
			node, isValue = v.outputs[step]
		}
	}
	switch {
	case isValue:
		return v.nested(name, node)
	case slices.Contains(v.env, name):
		value, ok := v.opt.Getenv(name)
		if !ok {
			return "", fmt.Errorf("${%s}: the environment has no such variable", name)
		}
		return value, nil
	case dates[name] != "":
		return v.opt.Date.Format(dates[name]), nil
	}
	if m := dateShift.FindStringSubmatch(name); m != nil && dates[m[1]] != "" {
		count, err := strconv.Atoi(m[2] + m[3])
		if err != nil {
			return "", err
		}
		if m[4] == "h" {
			return v.opt.Date.Add(time.Duration(count) * time.Hour).Format(dates[m[1]]), nil
		}
		return v.opt.Date.AddDate(0, 0, count).Format(dates[m[1]]), nil
	}
	if _, ok := v.opt.Getenv(name); ok {
		return "", fmt.Errorf("unknown variable %q: the environment has it; list it under environment: to use it", name)
	}
	return "", unknown("variable", name, v.known)
}

// nested returns the value of a variable that may have others in it.
func (v *variables) nested(name string, node *yaml.Node) (string, error) {
	if slices.Contains(v.open, name) {
		return "", fmt.Errorf("the variables refer to each other in a circle: %s", strings.Join(append(v.open, name), ", "))
	}
	if node.Kind != yaml.ScalarNode {
		return "", fmt.Errorf("${%s}: want one value, got %s", name, kindOf(node))
	}
	if node.Tag == "!!null" {
		return "", fmt.Errorf("the variable %s has no value: give it one with --set %s=...", name, name)
	}
	v.open = append(v.open, name)
	defer func() { v.open = v.open[:len(v.open)-1] }()
	if err := v.expand(node); err != nil {
		return "", err
	}
	return node.Value, nil
}
