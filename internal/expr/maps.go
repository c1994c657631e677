package expr

import "errors"

// kernel computes a node for the rows of a frame. It reads the node's arguments when it runs, so a
// binding may set the kernel before it casts the arguments.
type kernel func(f *frame) (*vector, error)

// unary makes the kernel of a function that fills a vector of a kind, which has the NULLs of the
// node's first argument.
func unary(n *node, k kind, fn func(f *frame, a, out *vector) error) kernel {
	return func(f *frame) (*vector, error) {
		a, err := f.eval(n.args[0])
		if err != nil {
			return nil, err
		}
		out := f.e.vector(k, f.n)
		out.null = a.null
		if err := fn(f, a, out); err != nil {
			return nil, err
		}
		return out, nil
	}
}

// binary makes the kernel of a function that fills a vector of a kind, which is NULL where either
// of two arguments is.
func binary(n *node, k kind, fn func(f *frame, a, b, out *vector) error) kernel {
	return func(f *frame) (*vector, error) {
		a, err := f.eval(n.args[0])
		if err != nil {
			return nil, err
		}
		b, err := f.eval(n.args[1])
		if err != nil {
			return nil, err
		}
		out := f.e.vector(k, f.n)
		out.null = f.e.union(a, b)
		if err := fn(f, a, b, out); err != nil {
			return nil, err
		}
		return out, nil
	}
}

// sameValues makes the kernel of a function that returns its argument.
func sameValues(n *node) kernel { return func(f *frame) (*vector, error) { return f.eval(n.args[0]) } }

// errNull is what a function of map1e and map2e returns for NULL.
var errNull = errors.New("NULL")

// kindOf is the kind of vector that holds values of type T.
func kindOf[T element]() kind {
	var zero T
	switch any(zero).(type) {
	case int64:
		return intKind
	case float64:
		return floatKind
	case wide:
		return wideKind
	}
	return textKind
}

// map1 makes the kernel of a function that is defined for anything, as it may stand at a NULL.
func map1[A, R element](n *node, fn func(A) R) kernel {
	return unary(n, kindOf[R](), func(_ *frame, a, out *vector) error {
		x, y := data[A](a), data[R](out)
		for i := range y {
			y[i] = fn(x[i])
		}
		return nil
	})
}

// map1e makes the kernel of a function that is not called for NULL.
func map1e[A, R element](n *node, fn func(A) (R, error)) kernel {
	return map1f(n, func(_ *Evaluator, a A) (R, error) { return fn(a) })
}

// map1f is map1e for a function that makes strings.
func map1f[A, R element](n *node, fn func(*Evaluator, A) (R, error)) kernel {
	return unary(n, kindOf[R](), func(f *frame, a, out *vector) error {
		x, y := data[A](a), data[R](out)
		for i := range y {
			if a.isNull(i) {
				continue
			}
			r, err := fn(f.e, x[i])
			if y[i] = r; err != nil {
				if err = out.setNull(f, i, err, a.null); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// setNull makes row i NULL if the error is errNull, and returns any other error. shared is a bitmap
// that belongs to another vector, or nil.
func (v *vector) setNull(f *frame, i int, err error, shared []uint64) error {
	if err != errNull {
		return err
	}
	if v.null == nil || shared != nil && &v.null[0] == &shared[0] {
		own := f.e.bitmap(f.n)
		copy(own, v.null)
		v.null = own
	}
	v.null[i>>6] |= 1 << (i & 63)
	return nil
}

func map2e[A, B, R element](n *node, fn func(A, B) (R, error)) kernel {
	return map2f(n, func(_ *Evaluator, a A, b B) (R, error) { return fn(a, b) })
}

func map2f[A, B, R element](n *node, fn func(*Evaluator, A, B) (R, error)) kernel {
	return binary(n, kindOf[R](), func(f *frame, a, b, out *vector) error {
		shared := out.null
		x, y, z := data[A](a), data[B](b), data[R](out)
		for i := range z {
			if out.isNull(i) {
				continue
			}
			r, err := fn(f.e, x[i], y[i])
			if z[i] = r; err != nil {
				if err = out.setNull(f, i, err, shared); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// map3f is map1f for three arguments; the function returns no errNull.
func map3f[A, B, C, R element](n *node, fn func(*Evaluator, A, B, C) (R, error)) kernel {
	return func(f *frame) (*vector, error) {
		args, out, err := f.all(n, kindOf[R]())
		if err != nil {
			return nil, err
		}
		x, y, z, r := data[A](args[0]), data[B](args[1]), data[C](args[2]), data[R](out)
		for i := range r {
			if out.isNull(i) {
				continue
			}
			if r[i], err = fn(f.e, x[i], y[i], z[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// all evaluates all arguments. It returns a vector for the result too, NULL where any argument is.
func (f *frame) all(n *node, k kind) ([]*vector, *vector, error) {
	args := make([]*vector, len(n.args))
	for i, a := range n.args {
		var err error
		if args[i], err = f.eval(a); err != nil {
			return nil, nil, err
		}
	}
	out := f.e.vector(k, f.n)
	out.null = f.e.union(args...)
	return args, out, nil
}

// test1 makes the kernel of a condition on an argument.
func test1[A element](n *node, fn func(A) bool) kernel {
	return unary(n, bitKind, func(_ *frame, a, out *vector) error {
		for i, x := range data[A](a) {
			if !a.isNull(i) && fn(x) {
				out.bits[i>>6] |= 1 << (i & 63)
			}
		}
		return nil
	})
}

// test2 makes the kernel of a condition on two arguments.
func test2[A, B element](n *node, fn func(*Evaluator, A, B) (bool, error)) kernel {
	return binary(n, bitKind, func(f *frame, a, b, out *vector) error {
		x, y := data[A](a), data[B](b)
		for i := range x {
			if out.isNull(i) {
				continue
			}
			is, err := fn(f.e, x[i], y[i])
			if err != nil {
				return err
			}
			if is {
				out.bits[i>>6] |= 1 << (i & 63)
			}
		}
		return nil
	})
}
