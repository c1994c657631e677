package web

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/mpga/mpga/app/server"
)

// uploadsPath begins the paths of files that people upload.
const uploadsPath = "/api/uploads/"

var errNoUploads = fmt.Errorf("%w: this server takes no files (mpga serve --allow-files DIR --uploads SIZE lets it)",
	server.ErrForbidden)

// upload takes a file, which is the body, and answers by which name statements read it.
func (s *Service) upload(r *request) error {
	if s.opt.Uploads == nil {
		return errNoUploads
	}
	if r.session == nil {
		return errNoSession
	}
	defer r.session.Hold()()
	taken, err := s.opt.Uploads.Take(r.PathValue("name"), &arriving{r, s.opt.RequestTime})
	if err != nil {
		return s.opt.Server.Reword(err)
	}
	answer(r.w, http.StatusCreated, map[string]any{"name": taken})
	return nil
}

// arriving is the body of a request of any length: each part of it has a time to arrive. W6.
type arriving struct {
	*request
	time time.Duration
}

func (a *arriving) Read(p []byte) (int, error) {
	_ = http.NewResponseController(a.w).SetReadDeadline(time.Now().Add(a.time)) // a connection of tests may have none
	n, err := a.Body.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w: nothing came for %s", errLate, a.time)
	}
	return n, err
}
