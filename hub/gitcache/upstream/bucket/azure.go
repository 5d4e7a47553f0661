package bucket

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/bounded"
)

// azure is a container of Azure Blob Storage.
type azure struct {
	base   string // the container's URL, without a slash at the end
	client *wire.Client
	auth   wire.Auth
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

func (b azure) page(ctx context.Context, prefix, after string) ([]Object, string, error) {
	q := url.Values{"prefix": {prefix}, "restype": {"container"}, "comp": {"list"}}
	if after != "" {
		q.Set("marker", after)
	}
	answer, err := b.client.Do(ctx, wire.Request{URL: b.base + "/?" + strings.ReplaceAll(q.Encode(), "+", "%20"), Auth: b.auth, Header: version()})
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	raw, err := wire.ReadAll(answer.Body, maxPage, "the bucket's listing")
	if err != nil {
		return nil, "", err
	}
	var p azurePage
	if err := bounded.XML(raw, &p, bounded.Most(maxPage)); err != nil {
		return nil, "", notAStore()
	}
	var out []Object
	for _, o := range p.Blobs {
		out = append(out, Object{o.Name, o.Properties.ETag, o.Properties.Size})
	}
	return out, p.Next, nil
}

func version() http.Header { return http.Header{"X-Ms-Version": {"2021-12-02"}} }

func (b azure) open(ctx context.Context, key, etag string) (io.ReadCloser, error) {
	header := version()
	if etag != "" {
		header.Set("If-Match", quoted(etag))
	}
	answer, err := b.client.Do(ctx, wire.Request{URL: b.base + "/" + (&url.URL{Path: key}).EscapedPath(), Auth: b.auth, Header: header, Accept: []int{http.StatusPreconditionFailed}})
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusPreconditionFailed {
		return nil, errors.Join(changed(key), answer.Body.Close())
	}
	return answer.Body, nil
}
