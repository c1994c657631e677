package rollup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// node is a part of a state: the states of one file, or of neighbouring parts of the level below. U1.
type node struct {
	key     string // 32 hexadecimal digits: a hash of what the part is made of
	level   int    // 0 of a leaf
	members []*node

	input int // of a leaf: the number of its table
	file  int // of a leaf: the number of its file there; noFile of the leaf of no rows
	part  int // of a leaf: the number of its segment of the file; 0 of a file that has none
}

// noFile is the file of the leaf without rows, which reads inputs of unions that have no files, and gives the one
// group of a statement without keys.
const noFile = -1

// newKey hashes values to a part's key.
func newKey(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Sprintf("a key of a part: %v", err)) // strings, numbers and times
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// A run of neighbours ends behind a part whose hash says so, one of fanOut on average, and has shortest to longest
// members: a file that comes or goes in the middle moves the ends of the runs beside it, and no others.
const (
	fanOut   = 8
	shortest = 2
	longest  = 2 * fanOut // a night may read as many parts of a level
)

// endsRun says whether a run of neighbours ends behind a part.
func (n *node) endsRun() bool {
	sum, err := hex.DecodeString(n.key[len(n.key)-2:])
	return err == nil && sum[0]%fanOut == 0
}

// tree merges leaves level by level, and returns the roots, in order: parts that together are all leaves. A run at the
// end of a level that has not ended stays as it is: the next files join it.
func tree(leaves []*node) (roots []*node) {
	for level := 1; len(leaves) > 1; level++ {
		var above []*node
		from := 0
		for i, n := range leaves {
			if size := i + 1 - from; size == longest || size >= shortest && n.endsRun() {
				above = append(above, newNode(level, leaves[from:i+1]))
				from = i + 1
			}
		}
		roots = slices.Concat(leaves[from:], roots)
		leaves = above
	}
	return slices.Concat(leaves, roots)
}

// newNode returns the part of some neighbours.
func newNode(level int, members []*node) *node {
	values := []any{"merged", level}
	for _, m := range members {
		values = append(values, m.key)
	}
	return &node{key: newKey(values...), level: level, members: members}
}

// totalLevel is the level of a total, which is in no tree.
const totalLevel = -1

// newTotal returns the part of the first files.
func newTotal(leaves []*node) *node {
	n := newNode(totalLevel, leaves)
	n.members = nil // it is merged of larger parts
	return n
}

// each calls a function with the leaves of a part, in order.
func (n *node) each(visit func(*node)) {
	if n.members == nil {
		visit(n)
	}
	for _, m := range n.members {
		m.each(visit)
	}
}

// leaves returns the leaves of a part, in order.
func (n *node) leaves() (list []*node) {
	n.each(func(leaf *node) { list = append(list, leaf) })
	return list
}

// eachFile calls a function with the leaves of some parts that have rows of a file.
func eachFile(parts []*node, visit func(leaf *node)) {
	for _, n := range parts {
		n.each(func(leaf *node) {
			if leaf.file != noFile {
				visit(leaf)
			}
		})
	}
}
