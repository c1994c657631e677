//go:build !nos3

package objects

import (
	"context"
	"os"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/s3blob" // for blob.OpenBucket
)

func init() { openers["s3"] = openAmazon }

func openAmazon(ctx context.Context, host string) (*blob.Bucket, error) {
	address := "s3://" + host
	if os.Getenv("AWS_ENDPOINT_URL") != "" || os.Getenv("AWS_ENDPOINT_URL_S3") != "" {
		address += "?use_path_style=true" // servers other than Amazon's have no host for each bucket
	}
	return blob.OpenBucket(ctx, address)
}
