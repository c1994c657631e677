//go:build !nos3

package objects

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/mpga/mpga/internal/redact"
)

func init() { openers["s3"] = openAmazon }

// s3Bucket is a bucket of Amazon S3, or of a server that speaks its protocol. Credentials, settings
// and signatures are of Amazon's library; the requests are made here, since that library's client
// is 9 MB of the program.
type s3Bucket struct {
	rest
	name    string
	address string // of the bucket, without a slash at its end
}

func openAmazon(ctx context.Context, host string, r rest, log *slog.Logger) (bucket, error) {
	settings, err := config.LoadDefaultConfig(ctx, config.WithLogger(amazonLog{log}),
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} })) // B2: of requests for credentials, too
	if err != nil {
		return nil, err
	}
	address, err := amazonAddress(ctx, settings, host)
	if err != nil {
		return nil, err
	}
	requests := *r.client
	requests.CheckRedirect = followAmazon
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }) // escapeKey has done it
	r.client, r.explain = &requests, explainAmazon
	r.sign = func(r *http.Request, body []byte) error {
		who, err := settings.Credentials.Retrieve(r.Context()) // asked for by clients with time-outs of their own
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		hash := hex.EncodeToString(sum[:])
		r.Header.Set("X-Amz-Content-Sha256", hash)
		return signer.SignHTTP(r.Context(), who, r, hash, "s3", settings.Region, time.Now())
	}
	return &s3Bucket{rest: r, name: host, address: address}, nil
}

// amazonAddress returns the address of a bucket: at the server that the settings name, or at
// Amazon's.
func amazonAddress(ctx context.Context, settings aws.Config, bucket string) (string, error) {
	if settings.Region == "" {
		return "", errors.New("no region is set")
	}
	if server := amazonServer(ctx, settings); server != "" { // which has no host for each bucket
		return strings.TrimRight(server, "/") + "/" + url.PathEscape(bucket), nil
	}
	host := "s3"
	if amazonSetting(ctx, settings, fipsSetting.GetUseFIPSEndpoint) == aws.FIPSEndpointStateEnabled {
		host += "-fips"
	}
	if amazonSetting(ctx, settings, dualStackSetting.GetUseDualStackEndpoint) == aws.DualStackEndpointStateEnabled {
		host += ".dualstack"
	}
	host += "." + settings.Region + ".amazonaws.com"
	if strings.HasPrefix(settings.Region, "cn-") {
		host += ".cn"
	}
	if strings.Contains(bucket, ".") || strings.ToLower(bucket) != bucket { // no certificate has a name of such a host
		return "https://" + host + "/" + url.PathEscape(bucket), nil
	}
	return "https://" + url.PathEscape(bucket) + "." + host, nil
}

// amazonServer returns the server that takes the place of Amazon's, "" for none.
func amazonServer(ctx context.Context, settings aws.Config) string {
	// The environment goes before the files.
	if os.Getenv("AWS_ENDPOINT_URL_S3") != "" || os.Getenv("AWS_ENDPOINT_URL") == "" {
		server := amazonSetting(ctx, settings, func(s serverSetting, ctx context.Context) (string, bool, error) {
			return s.GetServiceBaseEndpoint(ctx, "S3")
		})
		if server != "" {
			return server
		}
	}
	return aws.ToString(settings.BaseEndpoint)
}

// Settings that sources of them, the environment and the files, may have.
type (
	fipsSetting interface {
		GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error)
	}
	dualStackSetting interface {
		GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error)
	}
	serverSetting interface {
		GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
	}
)

// amazonSetting returns a setting of the first source that has it, zero where none has.
func amazonSetting[S, T any](ctx context.Context, settings aws.Config,
	get func(S, context.Context) (T, bool, error)) (none T) {
	for _, from := range settings.ConfigSources {
		source, has := from.(S)
		if !has {
			continue
		}
		if value, ok, err := get(source, ctx); ok && err == nil {
			return value
		}
	}
	return none
}

// amazonLog takes what the library says, which is of use to its own developers.
type amazonLog struct{ log *slog.Logger }

func (l amazonLog) Logf(_ logging.Classification, format string, args ...any) {
	l.log.Debug("the library of s3", slog.String("says", redact.Text(fmt.Sprintf(format, args...))))
}

// followAmazon follows the redirections that keep the method, as the library's own client does.
func followAmazon(r *http.Request, via []*http.Request) error {
	if status := r.Response.StatusCode; status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect {
		return http.ErrUseLastResponse
	}
	if via[len(via)-1].URL.Host != r.URL.Host {
		r.Header.Del("X-Amz-Security-Token")
	}
	return followRedirect(r, via)
}

// explainAmazon returns the code and the message of an error.
func explainAmazon(body []byte) string {
	var answer struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}
	if xml.Unmarshal(body, &answer) != nil {
		return ""
	}
	return strings.TrimSuffix(answer.Code+": "+answer.Message, ": ")
}

func (b *s3Bucket) key(key string) string { return b.address + "/" + escapeKey(key) }

func (b *s3Bucket) stat(ctx context.Context, key string) (version, error) {
	answer, err := b.do(ctx, http.MethodHead, b.key(key), nil, nil)
	if err != nil {
		return version{}, err
	}
	defer answer.Body.Close()
	v := versionOf(answer, answer.ContentLength)
	v.tag = strings.Trim(v.tag, `"`)
	return v, nil
}

func (b *s3Bucket) open(ctx context.Context, key string, offset int64, n int) (io.ReadCloser, int64, error) {
	return b.rest.open(ctx, b.key(key), offset, n, identity)
}

func (b *s3Bucket) list(ctx context.Context, prefix, token string, most int) ([]listed, string, error) {
	query := url.Values{"list-type": {"2"}, "encoding-type": {"url"}, "max-keys": {strconv.Itoa(most)}, "prefix": {prefix}}
	if token != "" {
		query.Set("continuation-token", token)
	}
	text, _, err := b.call(ctx, http.MethodGet, b.address+"/?"+query.Encode(), nil, nil)
	if err != nil {
		return nil, "", err
	}
	var answer struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		EncodingType          string   // of the keys; "" where the server knows none
		NextContinuationToken string
		Contents              []struct {
			Key          string
			LastModified time.Time
			ETag         string
			Size         int64
		}
	}
	if err := xml.Unmarshal(text, &answer); err != nil {
		return nil, "", fmt.Errorf("the list of the objects: %w", err)
	}
	page := make([]listed, len(answer.Contents))
	for i, o := range answer.Contents {
		if answer.EncodingType == "url" {
			if o.Key, err = url.QueryUnescape(o.Key); err != nil {
				return nil, "", fmt.Errorf("the list of the objects: %w", err)
			}
		}
		page[i] = listed{o.Key, version{size: o.Size, tag: strings.Trim(o.ETag, `"`), modified: o.LastModified}}
	}
	return page, answer.NextContinuationToken, nil
}

func (b *s3Bucket) remove(ctx context.Context, key string) error {
	return b.delete(ctx, b.key(key))
}

// copiedAtOnceMax is the size of the largest object that one request copies.
const copiedAtOnceMax = 5 << 30

func (b *s3Bucket) copy(ctx context.Context, from, to string) error {
	v, err := b.stat(ctx, from)
	switch {
	case err != nil:
		return err
	case v.size > copiedAtOnceMax:
		return finalError{errors.ErrUnsupported}
	}
	source := "/" + b.name + "/" + escapeKey(from)
	return b.finish(ctx, http.MethodPut, b.key(to), map[string]string{"X-Amz-Copy-Source": source}, nil)
}

// finish makes a call whose answer may begin well, and tell of an error.
func (b *s3Bucket) finish(ctx context.Context, method, address string, header map[string]string, body []byte) error {
	answer, _, err := b.call(ctx, method, address, header, body)
	if err != nil {
		return err
	}
	if why := explainAmazon(answer); why != "" {
		return errors.New(why)
	}
	return nil
}

func (b *s3Bucket) upload(key string) parts { return &s3Parts{bucket: b, address: b.key(key)} }

// s3Parts is a multipart upload.
type s3Parts struct {
	bucket  *s3Bucket
	address string
	id      string // of the upload, from begin on

	mu   sync.Mutex
	tags map[int]string // of the parts that have been sent, by number
}

func (p *s3Parts) atOnce() int { return partsAtOnce }

// send writes an object or a part, with the sum that buckets with object locks ask for. condition
// has fields of the request's head, nil of none. It returns the tag.
func (p *s3Parts) send(ctx context.Context, address string, body []byte,
	condition map[string]string) (tag string, err error) {
	sum := md5.Sum(body)
	header := map[string]string{"Content-Type": contentType, "Content-MD5": base64.StdEncoding.EncodeToString(sum[:])}
	maps.Copy(header, condition)
	_, answer, err := p.bucket.call(ctx, http.MethodPut, address, header, body)
	if err != nil {
		return "", err
	}
	return answer.Get("ETag"), nil
}

func (p *s3Parts) put(ctx context.Context, whole []byte) error {
	_, err := p.send(ctx, p.address, whole, nil)
	return err
}

func (p *s3Parts) putNew(ctx context.Context, whole []byte) error {
	_, err := p.send(ctx, p.address, whole, map[string]string{"If-None-Match": "*"})
	if conflict := (answerError{}); errors.As(err, &conflict) && conflict.status == http.StatusConflict {
		return conflict // somebody writes it now: another attempt sees whether it is there
	}
	return err
}

func (p *s3Parts) begin(ctx context.Context) error {
	text, _, err := p.bucket.call(ctx, http.MethodPost, p.address+"?uploads=",
		map[string]string{"Content-Type": contentType}, nil)
	if err != nil {
		return err
	}
	var answer struct {
		XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
		UploadId string   //nolint:revive // as the store writes it
	}
	if err := xml.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("the beginning of an upload: %w", err)
	}
	p.id, p.tags = answer.UploadId, make(map[int]string)
	return nil
}

func (p *s3Parts) part(ctx context.Context, number int, b []byte) error {
	query := url.Values{"partNumber": {strconv.Itoa(number + 1)}, "uploadId": {p.id}}
	tag, err := p.send(ctx, p.address+"?"+query.Encode(), b, nil)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tags[number] = tag
	return nil
}

func (p *s3Parts) commit(ctx context.Context, number int, last []byte) error {
	if _, sent := p.tags[number]; !sent {
		if err := p.part(ctx, number, last); err != nil {
			return err
		}
	}
	type part struct {
		PartNumber int
		ETag       string
	}
	var all struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Part    []part
	}
	for i := range len(p.tags) {
		all.Part = append(all.Part, part{i + 1, p.tags[i]})
	}
	body, err := xml.Marshal(all)
	if err != nil {
		return err
	}
	return p.bucket.finish(ctx, http.MethodPost, p.address+"?"+p.query(),
		map[string]string{"Content-Type": "application/xml"}, body)
}

func (p *s3Parts) query() string { return url.Values{"uploadId": {p.id}}.Encode() }

func (p *s3Parts) abort(ctx context.Context) error {
	return p.bucket.delete(ctx, p.address+"?"+p.query())
}
