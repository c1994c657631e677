package sink

// Settle returns the options that Create would write a path with, defaults filled in, or what is wrong with
// them. It touches no file.
func Settle(path string, opt Options) (Options, error) {
	err := settle(path, &opt)
	return opt, err
}

// Directory reports whether the output is a directory of files.
func (o *Options) Directory() bool { return o.directory() }
