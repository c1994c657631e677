//go:build !nogs

package objects

import (
	"context"
	"os"

	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
)

func init() { openers["gs"] = openGoogle }

// openGoogle opens a bucket with the credentials of the environment. gocloud's own way prints to the standard
// output where there are none, and goes on.
func openGoogle(ctx context.Context, host string) (*blob.Bucket, error) {
	if os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return blob.OpenBucket(ctx, "gs://"+host)
	}
	credentials, err := gcp.DefaultCredentials(ctx)
	if err != nil {
		return nil, err
	}
	client, err := gcp.NewHTTPClient(gcp.DefaultTransport(), gcp.CredentialsTokenSource(credentials))
	if err != nil {
		return nil, err
	}
	return gcsblob.OpenBucket(ctx, client, host, nil)
}
