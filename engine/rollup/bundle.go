package rollup

// A merged part of small files is made of the files at once, as a bundle, where none of them has a part: one pack, and
// no parts of its files. Where one of the files changes, comes or goes later, the part has another key, and its files
// are read again.
const (
	bundleBytes = 16 << 20 // of all files of a bundle
	bundleFiles = 64
)

// isBundle says whether a merged part that is missing is made of files at once. It is of whole files of one table, and
// of none whose own part is to be kept.
func (r *run) isBundle(n *node) bool {
	if n.members == nil || r.OnChange == OnChangeFail {
		return false
	}
	leaves := n.leaves()
	if len(leaves) > bundleFiles {
		return false
	}
	bytes := int64(0)
	for _, leaf := range leaves {
		switch {
		case leaf.file == noFile || leaf.input != leaves[0].input || r.have[leaf.key] != nil,
			len(r.fileOf(leaf).Segments) > 1, r.KeepParts > 0 && r.isNewest[r.fileOf(leaf).Path]:
			return false
		}
		bytes += r.fileOf(leaf).Bytes
	}
	return bytes <= r.bundled && !n.hasParts(r.have)
}

// hasParts says whether a part below a part is there.
func (n *node) hasParts(have map[string]*part) bool {
	for _, m := range n.members {
		if have[m.key] != nil || m.hasParts(have) {
			return true
		}
	}
	return false
}

// fileOf returns the file of a leaf, which has one.
func (r *run) fileOf(leaf *node) *file { return &r.tables[leaf.input].Files[leaf.file] }
