//go:build !noaz

package objects

import (
	"context"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // for blob.OpenBucket
)

func init() { openers["az"] = openAzure }

func openAzure(ctx context.Context, host string) (*blob.Bucket, error) {
	return blob.OpenBucket(ctx, "azblob://"+host)
}
