//go:build !nogs

package objects

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

func init() { openers["gs"] = openGoogle }

// gsBucket is a bucket of Google Cloud Storage. Credentials are found by Google's library; the
// requests are made here, since the library's client comes with gRPC, which made it 20 MB of the
// program.
type gsBucket struct {
	rest
	server, name string
}

const googleServer = "https://storage.googleapis.com"

// googleScope is what the credentials are asked for.
const googleScope = "https://www.googleapis.com/auth/cloud-platform"

// openGoogle opens a bucket with the credentials of the environment, or a bucket of the store's
// double that STORAGE_EMULATOR_HOST names.
func openGoogle(ctx context.Context, name string, r rest, _ *slog.Logger) (bucket, error) {
	r.explain = explainGoogle
	b := &gsBucket{rest: r, server: googleServer, name: name}
	if emulator := os.Getenv("STORAGE_EMULATOR_HOST"); emulator != "" {
		b.server = "http://" + emulator
		return b, nil
	}
	credentials, err := google.FindDefaultCredentials(context.WithValue(ctx, oauth2.HTTPClient, r.client), googleScope)
	if err != nil {
		return nil, err
	}
	authorized := *r.client
	authorized.Transport = &oauth2.Transport{Base: r.client.Transport, Source: credentials.TokenSource}
	b.client = &authorized
	return b, nil
}

// explainGoogle returns the message of an error.
func explainGoogle(body []byte) string {
	var answer struct{ Error struct{ Message string } }
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	return answer.Error.Message
}

// objects returns the address of the bucket's list.
func (b *gsBucket) objects() string {
	return b.server + "/storage/v1/b/" + url.PathEscape(b.name) + "/o"
}

func (b *gsBucket) key(key string) string { return b.objects() + "/" + url.PathEscape(key) }

// gsObject is what the store says of an object.
type gsObject struct {
	Name    string
	Size    int64 `json:",string"`
	MD5Hash string
	Updated time.Time
}

func (o *gsObject) version() version {
	sum, _ := base64.StdEncoding.DecodeString(o.MD5Hash) // none of an object that was composed
	return version{size: o.Size, tag: hex.EncodeToString(sum), modified: o.Updated}
}

func (b *gsBucket) stat(ctx context.Context, key string) (version, error) {
	var o gsObject
	if err := b.json(ctx, b.key(key), &o); err != nil {
		return version{}, err
	}
	return o.version(), nil
}

// json asks for an address and decodes the answer.
func (b *gsBucket) json(ctx context.Context, address string, to any) error {
	text, _, err := b.call(ctx, http.MethodGet, address, nil, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// open asks for the bytes as they lie in the store: where they are packed, they are not unpacked
// there.
func (b *gsBucket) open(ctx context.Context, key string, offset int64, n int) (io.ReadCloser, int64, error) {
	return b.rest.open(ctx, b.server+"/"+url.PathEscape(b.name)+"/"+escapeKey(key), offset, n, "gzip")
}

func (b *gsBucket) list(ctx context.Context, prefix, token string, most int) ([]listed, string, error) {
	query := url.Values{"maxResults": {strconv.Itoa(most)}, "prefix": {prefix}}
	if token != "" {
		query.Set("pageToken", token)
	}
	var answer struct {
		NextPageToken string
		Items         []gsObject
	}
	if err := b.json(ctx, b.objects()+"?"+query.Encode(), &answer); err != nil {
		return nil, "", err
	}
	page := make([]listed, len(answer.Items))
	for i := range answer.Items {
		page[i] = listed{answer.Items[i].Name, answer.Items[i].version()}
	}
	return page, answer.NextPageToken, nil
}

func (b *gsBucket) remove(ctx context.Context, key string) error {
	return b.delete(ctx, b.key(key))
}

func (b *gsBucket) copy(context.Context, string, string) error {
	return finalError{errors.ErrUnsupported}
}

func (b *gsBucket) upload(key string) parts { return &gsParts{bucket: b, key: key} }

// gsParts is a resumable upload, whose parts go one after the other.
type gsParts struct {
	bucket  *gsBucket
	key     string
	session string // the upload's address, from begin on
	unsure  bool   // whether the store has part of what was sent last
}

func (*gsParts) atOnce() int { return 1 }

// address returns where an upload of a kind begins.
func (p *gsParts) address(kind string) string {
	return p.bucket.server + "/upload/storage/v1/b/" + url.PathEscape(p.bucket.name) + "/o?" +
		url.Values{"uploadType": {kind}, "name": {p.key}}.Encode()
}

func (p *gsParts) put(ctx context.Context, whole []byte) error {
	_, _, err := p.bucket.call(ctx, http.MethodPost, p.address("media"),
		map[string]string{"Content-Type": contentType}, whole)
	return err
}

func (p *gsParts) putNew(ctx context.Context, whole []byte) error {
	address := p.address("media") + "&ifGenerationMatch=0" // of an object that is not there
	_, _, err := p.bucket.call(ctx, http.MethodPost, address, map[string]string{"Content-Type": contentType}, whole)
	return err
}

func (p *gsParts) begin(ctx context.Context) error {
	header := map[string]string{"X-Upload-Content-Type": contentType}
	_, answer, err := p.bucket.call(ctx, http.MethodPost, p.address("resumable"), header, nil)
	if err != nil {
		return err
	}
	if p.session = answer.Get("Location"); p.session == "" {
		return errors.New("the beginning of an upload: the store does not say where it goes on")
	}
	return nil
}

func (p *gsParts) part(ctx context.Context, number int, b []byte) error {
	return p.send(ctx, int64(number)*partBytes, b, "*")
}

func (p *gsParts) commit(ctx context.Context, number int, last []byte) error {
	from := int64(number) * partBytes
	return p.send(ctx, from, last, strconv.FormatInt(from+int64(len(last)), 10))
}

// send sends the bytes from an offset on, of an object of a size that may be "*". After an error
// the store may have some of them, and is asked how many.
func (p *gsParts) send(ctx context.Context, from int64, b []byte, size string) error {
	done := from
	if p.unsure {
		var ended bool
		var err error
		if done, ended, err = p.chunk(ctx, "bytes */"+size, nil); err != nil || ended {
			return err
		}
		if done < from || done > from+int64(len(b)) {
			return fmt.Errorf("the store has %d B of an upload of which %d to %d were sent", done, from, from+int64(len(b)))
		}
	}
	for end := from + int64(len(b)); done < end; {
		p.unsure = true
		now, ended, err := p.chunk(ctx, fmt.Sprintf("bytes %d-%d/%s", done, end-1, size), b[done-from:])
		if err != nil {
			return err
		}
		if ended {
			break
		}
		if now <= done {
			return fmt.Errorf("the store took none of the bytes from %d on", done)
		}
		done = now
	}
	p.unsure = false
	return nil
}

// chunk sends bytes, or none. It returns how many bytes of the object the store has, or that it has
// all of them.
func (p *gsParts) chunk(ctx context.Context, which string, b []byte) (done int64, ended bool, err error) {
	_, _, err = p.bucket.call(ctx, http.MethodPut, p.session, map[string]string{"Content-Range": which}, b)
	if err == nil {
		return 0, true, nil
	}
	const resumeIncomplete = 308
	refusal := answerError{}
	if !errors.As(err, &refusal) || refusal.status != resumeIncomplete {
		return 0, false, err
	}
	have := refusal.header.Get("Range") // "bytes=0-8388607"; "" for nothing
	if have == "" {
		return 0, false, nil
	}
	_, last, _ := strings.Cut(have, "-")
	n, err := strconv.ParseInt(last, 10, 64)
	return n + 1, false, err
}

// abort ends the session. The store's answer to that is an error, 499.
func (p *gsParts) abort(ctx context.Context) error {
	err := p.bucket.delete(ctx, p.session)
	const closedRequest = 499
	if refusal := (answerError{}); errors.As(err, &refusal) && refusal.status == closedRequest {
		return nil
	}
	return err
}
