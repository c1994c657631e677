package logical

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mpga/mpga/engine/sql"
)

// view binds the statement that the name of a view stands for, anew at each place: tables change.
func (b *binder) view(ctx context.Context, name string, f *sql.Table, query *sql.Select) (*scope, error) {
	if slices.Contains(b.views, query) {
		return nil, errorAt(f.At, "view %s reads itself: CREATE OR REPLACE VIEW %s AS ... of other tables", name, name)
	}
	b.views = append(b.views, query)
	r, err := b.derived(ctx, query)
	b.views = b.views[:len(b.views)-1]
	var at *sql.Error
	switch {
	case err == nil:
		return r, nil
	case errors.As(err, &at): // in the text of the view
		of := *at
		of.Message = fmt.Sprintf("view %s: %s", name, at.Message)
		return nil, &of
	}
	return nil, fmt.Errorf("view %s: %w", name, err)
}
