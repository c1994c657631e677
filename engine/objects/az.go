//go:build !noaz

package objects

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

func init() { openers["az"] = openAzure }

// azContainer is a container of Azure's blob storage.
type azContainer struct{ client *container.Client }

// openAzure opens a container with the credentials of the environment.
func openAzure(_ context.Context, name string, r rest, _ *slog.Logger) (bucket, error) {
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: r.client,
		Retry:     policy.RetryOptions{MaxRetries: -1}, // FS.retry makes the attempts; 0 is the library's default
	}}
	service, err := azureService()
	if err != nil {
		return nil, err
	}
	client, err := newAzureClient(service, name, options)
	if err != nil {
		return nil, err
	}
	return &azContainer{client}, nil
}

// azureService returns the address of the account that the environment names, with its SAS token if
// there is one.
func azureService() (string, error) {
	account, protocol := os.Getenv("AZURE_STORAGE_ACCOUNT"), os.Getenv("AZURE_STORAGE_PROTOCOL")
	for setting := range strings.SplitSeq(azureConnection(), ";") {
		switch name, value, _ := strings.Cut(setting, "="); name {
		case "AccountName":
			account = cmp.Or(account, value)
		case "DefaultEndpointsProtocol":
			protocol = cmp.Or(protocol, value)
		}
	}
	protocol = cmp.Or(protocol, "https")
	switch {
	case account == "":
		return "", errors.New("no account is set (AZURE_STORAGE_ACCOUNT)")
	case protocol != "http" && protocol != "https":
		return "", fmt.Errorf("AZURE_STORAGE_PROTOCOL is %q, not http or https", protocol)
	}
	domain := cmp.Or(os.Getenv("AZURE_STORAGE_DOMAIN"), "blob.core.windows.net")
	emulated, _ := strconv.ParseBool(os.Getenv("AZURE_STORAGE_IS_LOCAL_EMULATOR"))
	cdn, _ := strconv.ParseBool(os.Getenv("AZURE_STORAGE_IS_CDN"))
	address := protocol + "://" + account + "." + domain
	switch {
	case emulated || strings.HasPrefix(domain, "127.0.0.1") || strings.HasPrefix(domain, "localhost"):
		address = protocol + "://" + domain + "/" + account
	case cdn:
		address = protocol + "://" + domain
	}
	if token := os.Getenv("AZURE_STORAGE_SAS_TOKEN"); token != "" {
		address += "?" + token
	}
	return address, nil
}

func azureConnection() string {
	return cmp.Or(os.Getenv("AZURE_STORAGE_CONNECTION_STRING"), os.Getenv("AZURE_STORAGEBLOB_CONNECTIONSTRING"))
}

func newAzureClient(service, name string, options *container.ClientOptions) (*container.Client, error) {
	address, err := url.JoinPath(service, name)
	if err != nil {
		return nil, err
	}
	account, key := os.Getenv("AZURE_STORAGE_ACCOUNT"), os.Getenv("AZURE_STORAGE_KEY")
	switch {
	case account != "" && key != "":
		credential, err := azblob.NewSharedKeyCredential(account, key)
		if err != nil {
			return nil, err
		}
		return container.NewClientWithSharedKeyCredential(address, credential, options)
	case os.Getenv("AZURE_STORAGE_SAS_TOKEN") != "": // the address has it
		return container.NewClientWithNoCredential(address, options)
	case azureConnection() != "":
		return container.NewClientFromConnectionString(azureConnection(), name, options)
	}
	credential, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, err
	}
	return container.NewClient(address, credential, options)
}

// azureError says of an error that is an answer what the answer means.
func azureError(err error) error {
	if answer := (*azcore.ResponseError)(nil); errors.As(err, &answer) {
		return answered(answer.StatusCode, err)
	}
	return err
}

func azureVersion(size *int64, md5 []byte, modified *time.Time) version {
	return version{size: valueOr(size, -1), tag: hex.EncodeToString(md5), modified: valueOr(modified, time.Time{})}
}

// valueOr returns what a pointer refers to, or another value for nil.
func valueOr[T any](p *T, other T) T {
	if p == nil {
		return other
	}
	return *p
}

func (c *azContainer) stat(ctx context.Context, key string) (version, error) {
	answer, err := c.client.NewBlobClient(key).GetProperties(ctx, nil)
	if err != nil {
		return version{}, azureError(err)
	}
	return azureVersion(answer.ContentLength, answer.ContentMD5, answer.LastModified), nil
}

func (c *azContainer) open(ctx context.Context, key string, offset int64, n int) (io.ReadCloser, int64, error) {
	answer, err := c.client.NewBlobClient(key).DownloadStream(ctx,
		&blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: offset, Count: int64(n)}})
	if err != nil {
		return nil, 0, azureError(err)
	}
	if answer.ContentRange == nil {
		return answer.Body, valueOr(answer.ContentLength, -1), nil
	}
	return answer.Body, totalOf(*answer.ContentRange), nil
}

func (c *azContainer) list(ctx context.Context, prefix, token string, most int) ([]listed, string, error) {
	options := &container.ListBlobsFlatOptions{Prefix: &prefix, MaxResults: to.Ptr(int32(most))}
	if token != "" {
		options.Marker = &token
	}
	answer, err := c.client.NewListBlobsFlatPager(options).NextPage(ctx)
	if err != nil {
		return nil, "", azureError(err)
	}
	var page []listed
	for _, o := range answer.Segment.BlobItems {
		if o.Name != nil && o.Properties != nil {
			page = append(page,
				listed{*o.Name, azureVersion(o.Properties.ContentLength, o.Properties.ContentMD5,
					o.Properties.LastModified)})
		}
	}
	return page, valueOr(answer.NextMarker, ""), nil
}

func (c *azContainer) remove(ctx context.Context, key string) error {
	_, err := c.client.NewBlobClient(key).Delete(ctx, nil)
	return azureError(err)
}

func (c *azContainer) copy(context.Context, string, string) error {
	return finalError{errors.ErrUnsupported}
}

func (c *azContainer) upload(key string) parts {
	return &azParts{client: c.client.NewBlockBlobClient(key), name: rand.Text()}
}

// azParts is a list of blocks. The store drops blocks that are in no list after a week.
type azParts struct {
	client *blockblob.Client
	name   string // of the upload: the names of its blocks begin with it
}

func (*azParts) atOnce() int { return partsAtOnce }

var azureHeaders = &blob.HTTPHeaders{BlobContentType: to.Ptr(contentType)}

func (p *azParts) put(ctx context.Context, whole []byte) error {
	_, err := p.client.Upload(ctx, streaming.NopCloser(bytes.NewReader(whole)),
		&blockblob.UploadOptions{HTTPHeaders: azureHeaders})
	return azureError(err)
}

func (p *azParts) putNew(ctx context.Context, whole []byte) error {
	nothing := &blob.AccessConditions{
		ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)},
	}
	_, err := p.client.Upload(ctx, streaming.NopCloser(bytes.NewReader(whole)),
		&blockblob.UploadOptions{HTTPHeaders: azureHeaders, AccessConditions: nothing})
	if bloberror.HasCode(err, bloberror.BlobAlreadyExists) {
		return finalError{fmt.Errorf("%w (%w)", fs.ErrExist, err)}
	}
	return azureError(err)
}

func (p *azParts) begin(context.Context) error { return nil }

// block returns the name of a part. The store wants all names of blocks of a blob to have the same
// length.
func (p *azParts) block(number int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s-%08d", p.name, number))
}

func (p *azParts) part(ctx context.Context, number int, b []byte) error {
	_, err := p.client.StageBlock(ctx, p.block(number), streaming.NopCloser(bytes.NewReader(b)), nil)
	return azureError(err)
}

func (p *azParts) commit(ctx context.Context, number int, last []byte) error {
	if err := p.part(ctx, number, last); err != nil {
		return err
	}
	var all []string
	for i := range number + 1 {
		all = append(all, p.block(i))
	}
	_, err := p.client.CommitBlockList(ctx, all, &blockblob.CommitBlockListOptions{HTTPHeaders: azureHeaders})
	return azureError(err)
}

func (p *azParts) abort(context.Context) error { return nil }
