// Package bucket lists and reads objects in object stores. It speaks the S3
// protocol, which Google Cloud Storage supports too, and the few calls of Azure
// Blob Storage that it needs.
//
// It signs nothing itself (a wire.Auth does), writes nothing, and keeps
// nothing. The agent of artifact repositories calls it.
//
// Invariants: a listing is complete or an error, and no longer than the
// caller's limit; an object is read only in the version that was listed.
package bucket

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

// Config configures a Bucket. URL and Client are required.
type Config struct {
	// URL is s3://BUCKET, gs://BUCKET, azblob://ACCOUNT/CONTAINER, or the
	// https URL of a bucket: https://s3.example.com/BUCKET.
	URL string
	// Endpoint is required for s3, and replaces the cloud's own for gs and
	// azblob.
	Endpoint string
	Client   *wire.Client
	Auth     wire.Auth // nil is anonymous
}

// Bucket is one bucket.
type Bucket struct {
	base   string // the bucket's URL, without a slash at the end
	azure  bool
	client *wire.Client
	auth   wire.Auth
}

// New checks the URL.
func New(c Config) (*Bucket, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" {
		return nil, errcode.New(errcode.Invalid, "the bucket's URL cannot be read")
	}
	b := &Bucket{client: c.Client, auth: c.Auth}
	path := strings.Trim(u.Path, "/")
	endpoint := strings.TrimSuffix(c.Endpoint, "/")
	switch u.Scheme {
	case "s3":
		b.base = endpoint + "/" + u.Host
	case "gs":
		b.base = or(endpoint, "https://storage.googleapis.com") + "/" + u.Host
	case "azblob":
		if path == "" {
			return nil, errcode.New(errcode.Invalid, "the bucket's URL names no container; give one like azblob://ACCOUNT/CONTAINER")
		}
		b.base, b.azure = or(endpoint, "https://"+u.Host+".blob.core.windows.net")+"/"+path, true
		return b, nil
	default:
		b.base = u.Scheme + "://" + u.Host + "/" + path
		b.azure = strings.Contains(u.Host, ".blob.core.")
		b.base = strings.TrimSuffix(b.base, "/")
		return b, nil
	}
	if path != "" {
		return nil, errcode.New(errcode.Invalid, "the bucket's URL holds a path; name the folder with the source instead")
	}
	return b, nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Object is one object as it was listed.
type Object struct {
	Key  string
	ETag string
	Size int64
}

type s3Page struct {
	XMLName  xml.Name `xml:"ListBucketResult"`
	Next     string   `xml:"NextContinuationToken"`
	More     bool     `xml:"IsTruncated"`
	Contents []struct {
		Key  string
		ETag string
		Size int64
	}
}

type azurePage struct {
	XMLName xml.Name `xml:"EnumerationResults"`
	Next    string   `xml:"NextMarker"`
	Blobs   []struct {
		Name       string
		Properties struct {
			ETag string `xml:"Etag"`
			Size int64  `xml:"Content-Length"`
		}
	} `xml:"Blobs>Blob"`
}

// maxPage limits one page of a listing: a thousand keys of 1 KiB, escaped.
const maxPage = 16 << 20

// List lists the objects under a prefix, at most limit of them.
func (b *Bucket) List(ctx context.Context, prefix string, limit int) ([]Object, error) {
	var all []Object
	next := ""
	for page := 0; ; page++ {
		objects, after, err := b.page(ctx, prefix, next)
		if err != nil {
			return nil, err
		}
		if all = append(all, objects...); len(all) > limit {
			return nil, errcode.New(errcode.Unprocessable, "there are more than %d objects under %.200q", limit, prefix)
		}
		if after == "" {
			return all, nil
		}
		if after == next || page > limit {
			return nil, errcode.New(errcode.Unavailable, "the bucket's listing repeats itself without end")
		}
		next = after
	}
}

func (b *Bucket) page(ctx context.Context, prefix, next string) ([]Object, string, error) {
	q := url.Values{"prefix": {prefix}}
	if b.azure {
		q.Set("restype", "container")
		q.Set("comp", "list")
		if next != "" {
			q.Set("marker", next)
		}
	} else {
		q.Set("list-type", "2")
		if next != "" {
			q.Set("continuation-token", next)
		}
	}
	answer, err := b.client.Do(ctx, wire.Request{URL: b.base + "/?" + strings.ReplaceAll(q.Encode(), "+", "%20"), Auth: b.auth, Header: b.header()})
	if b.azure && err == nil {
		return readAzure(answer)
	}
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	var p s3Page
	if err := decode(answer.Body, &p); err != nil {
		return nil, "", err
	}
	if !p.More {
		p.Next = ""
	} else if p.Next == "" {
		return nil, "", errcode.New(errcode.Unavailable, "the bucket's listing has more pages but no marker of the next one")
	}
	var out []Object
	for _, o := range p.Contents {
		out = append(out, Object{o.Key, o.ETag, o.Size})
	}
	return out, p.Next, nil
}

func readAzure(answer *http.Response) ([]Object, string, error) {
	defer answer.Body.Close()
	var p azurePage
	if err := decode(answer.Body, &p); err != nil {
		return nil, "", err
	}
	var out []Object
	for _, o := range p.Blobs {
		out = append(out, Object{o.Name, o.Properties.ETag, o.Properties.Size})
	}
	return out, p.Next, nil
}

func decode(body io.Reader, into any) error {
	raw, err := wire.ReadAll(body, maxPage, "the bucket's listing")
	if err != nil {
		return err
	}
	if err := bounded.XML(raw, into, bounded.Most(maxPage)); err != nil {
		return errcode.New(errcode.Unavailable, "the bucket's listing is not what an object store sends; check the URL")
	}
	return nil
}

func (b *Bucket) header() http.Header {
	if b.azure {
		return http.Header{"X-Ms-Version": {"2021-12-02"}}
	}
	return http.Header{}
}

// Get writes an object to w if it is still the listed version.
func (b *Bucket) Get(ctx context.Context, o Object, w io.Writer) error {
	header := b.header()
	if o.ETag != "" {
		header.Set("If-Match", quoted(o.ETag))
	}
	answer, err := b.client.Do(ctx, wire.Request{URL: b.base + "/" + escape(o.Key), Auth: b.auth, Header: header, Accept: []int{http.StatusPreconditionFailed}})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusPreconditionFailed {
		return errcode.New(errcode.Unavailable, "object %.200q changed while the bucket was read; the next poll reads it again", o.Key)
	}
	n, err := io.Copy(w, io.LimitReader(answer.Body, o.Size+1))
	if err == nil && n != o.Size {
		err = errcode.New(errcode.Unavailable, "object %.200q has another size than was listed", o.Key)
	}
	return err
}

func quoted(etag string) string {
	if strings.HasPrefix(etag, `"`) || strings.HasPrefix(etag, "W/") {
		return etag
	}
	return `"` + etag + `"`
}

// escape encodes a key as a path, with every byte escaped that signatures
// require.
func escape(key string) string {
	var out strings.Builder
	for _, c := range []byte(key) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_', c == '~', c == '/':
			out.WriteByte(c)
		default:
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}
