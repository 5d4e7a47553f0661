package bucket

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/endpoints"
	"github.com/aws/smithy-go/logging"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
)

// bucketName is in the endpoint already; the SDK asks for one in each request.
var bucketName = aws.String("bucket")

func newS3(base string, c Config) (*s3.Client, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the bucket's endpoint is not a URL")
	}
	return s3.New(s3.Options{
		EndpointResolverV2: endpoint(*u), HTTPClient: sender{c.Client, c.Auth}, Logger: logging.Nop{}, Retryer: aws.NopRetryer{},
		// Compatible stores do not all know the checksums that Amazon's takes.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired, ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}), nil
}

// endpoint is the bucket's own URL, whatever the region and the environment say.
type endpoint url.URL

// ResolveEndpoint implements s3.EndpointResolverV2.
func (e endpoint) ResolveEndpoint(context.Context, s3.EndpointParameters) (transport.Endpoint, error) {
	return transport.Endpoint{URI: url.URL(e)}, nil
}

// sender makes the SDK's requests by the client, whose refusals are the errors.
type sender struct {
	client *wire.Client
	auth   wire.Auth
}

// maxPage limits one page of a listing: a thousand keys of 1 KiB, escaped.
const maxPage = 16 << 20

// Do implements s3.HTTPClient.
func (s sender) Do(r *http.Request) (*http.Response, error) {
	r.Header.Del("Accept-Encoding") // Google's store changes it, and no signature may hold it
	if s.auth != nil {
		if err := s.auth.Apply(r.Context(), r); err != nil {
			return nil, err
		}
	}
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-") {
		maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return strings.HasPrefix(name, "X-Amz-") })
	}
	answer, err := s.client.Send(r, []int{http.StatusPreconditionFailed})
	if err == nil && (answer.StatusCode/100 != 2 || r.Method != http.MethodGet || r.URL.Query().Has("list-type")) {
		// The SDK keeps these answers in memory.
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxPage)
	}
	return answer, err
}

// explained returns the client's error, without the SDK's words.
func explained(err error) error {
	var coded *errcode.Error
	var answer smithy.APIError
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &coded):
		return coded
	case errors.As(err, &answer): // with the status 200
		return errcode.Hide(errcode.Unavailable, err, "the store answers %.60s: %.200s", answer.ErrorCode(), answer.ErrorMessage())
	}
	return notAStore()
}

func (b *Bucket) page(ctx context.Context, prefix, after string) ([]Object, string, error) {
	if b.s3 == nil {
		return b.azure.page(ctx, prefix, after)
	}
	ask := s3.ListObjectsV2Input{Bucket: bucketName, Prefix: &prefix}
	if after != "" {
		ask.ContinuationToken = &after
	}
	got, err := b.s3.ListObjectsV2(ctx, &ask)
	if err != nil {
		return nil, "", explained(err)
	}
	more, next := aws.ToBool(got.IsTruncated), aws.ToString(got.NextContinuationToken)
	switch {
	case got.IsTruncated == nil: // every store says it
		return nil, "", notAStore()
	case more && next == "":
		return nil, "", errcode.New(errcode.Unavailable, "the bucket's listing has more pages but no marker of the next one")
	case !more:
		next = ""
	}
	var out []Object
	for _, o := range got.Contents {
		out = append(out, Object{aws.ToString(o.Key), aws.ToString(o.ETag), aws.ToInt64(o.Size)})
	}
	return out, next, nil
}

// Open reads an object in any version. NotFound when it does not exist.
func (b *Bucket) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	return b.open(ctx, key, "")
}

func (b *Bucket) open(ctx context.Context, key, etag string) (io.ReadCloser, error) {
	if b.s3 == nil {
		return b.azure.open(ctx, key, etag)
	}
	ask := s3.GetObjectInput{Bucket: bucketName, Key: &key}
	if etag != "" {
		ask.IfMatch = aws.String(quoted(etag))
	}
	got, err := b.s3.GetObject(ctx, &ask)
	var answer smithy.APIError
	if errors.As(err, &answer) { // the only refusal that is no error of the client
		return nil, changed(key)
	}
	if err != nil {
		return nil, explained(err)
	}
	return got.Body, nil
}
