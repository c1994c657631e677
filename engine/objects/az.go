//go:build !noaz

package objects

import (
	"cmp"
	"context"
	"net/url"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"
)

func init() { openers["az"] = openAzure }

// openAzure opens a container with the credentials of the environment, found in the order in which gocloud's own way
// finds them, which takes no client.
func openAzure(ctx context.Context, host string, c client) (*blob.Bucket, error) {
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: c.http,
		Retry:     policy.RetryOptions{MaxRetries: int32(c.attempts - 1), RetryDelay: c.pause, MaxRetryDelay: pauseGrowthMax * c.pause},
	}}
	if c.attempts == 1 {
		options.Retry.MaxRetries = -1 // 0 is the library's default
	}
	service, err := azureblob.NewServiceURL(azureblob.NewDefaultServiceURLOptions())
	if err != nil {
		return nil, err
	}
	client, err := newAzureClient(string(service), host, options)
	if err != nil {
		return nil, err
	}
	return azureblob.OpenBucket(ctx, client, nil)
}

func newAzureClient(service, name string, options *container.ClientOptions) (*container.Client, error) {
	address, err := url.JoinPath(service, name)
	if err != nil {
		return nil, err
	}
	account, key := os.Getenv("AZURE_STORAGE_ACCOUNT"), os.Getenv("AZURE_STORAGE_KEY")
	connection := cmp.Or(os.Getenv("AZURE_STORAGE_CONNECTION_STRING"), os.Getenv("AZURE_STORAGEBLOB_CONNECTIONSTRING"))
	switch {
	case account != "" && key != "":
		credential, err := azblob.NewSharedKeyCredential(account, key)
		if err != nil {
			return nil, err
		}
		return container.NewClientWithSharedKeyCredential(address, credential, options)
	case os.Getenv("AZURE_STORAGE_SAS_TOKEN") != "": // the address has it
		return container.NewClientWithNoCredential(address, options)
	case connection != "":
		return container.NewClientFromConnectionString(connection, name, options)
	}
	credential, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, err
	}
	return container.NewClient(address, credential, options)
}
