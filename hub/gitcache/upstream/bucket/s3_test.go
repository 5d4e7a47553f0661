package bucket_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/upstream/bucket"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
)

// open returns a bucket whose store is the handler.
func open(t *testing.T, auth wire.Auth, store http.HandlerFunc) *bucket.Bucket {
	t.Helper()
	s := httptest.NewServer(store)
	t.Cleanup(s.Close)
	client, err := wire.New(wire.Config{Dialer: &wire.Anywhere{}, AllowHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := bucket.New(bucket.Config{URL: s.URL + "/files", Client: client, Auth: auth})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestListingsOfStrangers checks that a listing is complete or an error, and not kept
// in memory without end.
func TestListingsOfStrangers(t *testing.T) {
	t.Parallel()
	const list = `<ListBucketResult><IsTruncated>%v</IsTruncated>%s</ListBucketResult>`
	for name, tt := range map[string]struct {
		page string
		code errcode.Code
		want string
	}{
		"a page of a website": {"<html><body>Welcome</body></html>", errcode.Unavailable, "not what an object store sends"},
		"no XML":              {"not found", errcode.Unavailable, "not what an object store sends"},
		"half a page":         {"<ListBucketResult><IsTruncated>false</IsTruncated>", errcode.Unavailable, "not what an object store sends"},
		"no next marker":      {fmt.Sprintf(list, true, ""), errcode.Unavailable, "no marker of the next one"},
		"the same page again": {fmt.Sprintf(list, true, "<NextContinuationToken>x</NextContinuationToken>"), errcode.Unavailable, "repeats itself without end"},
		"too many objects":    {fmt.Sprintf(list, false, strings.Repeat("<Contents><Key>k</Key></Contents>", 11)), errcode.Unprocessable, "more than 10 objects"},
		"no end":              {fmt.Sprintf(list, false, "<Name>"+strings.Repeat("x", 17<<20)+"</Name>"), errcode.Unavailable, "not what an object store sends"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, nil, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tt.page) })
			got, err := b.List(t.Context(), "", 10)
			if !errcode.Is(err, tt.code) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("listed %v, %v", got, err)
			}
		})
	}
}

// signing is an Auth as Amazon's, and keeps what it signs.
type signing struct{ signed http.Header }

// Apply implements wire.Auth.
func (s *signing) Apply(_ context.Context, r *http.Request) error {
	s.signed = r.Header.Clone()
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 x")
	return nil
}

// TestWhatARequestCarries checks that no header is signed that stores change, and that
// a store other than Amazon's gets none of Amazon's headers with a token.
func TestWhatARequestCarries(t *testing.T) {
	t.Parallel()
	var got http.Header
	keep := func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		_, _ = io.WriteString(w, "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
	}
	keys := &signing{}
	if _, err := open(t, keys, keep).List(t.Context(), "", 1); err != nil {
		t.Fatal(err)
	}
	if keys.signed.Get("Accept-Encoding") != "" || keys.signed.Get("X-Amz-Content-Sha256") == "" || got.Get("X-Amz-Content-Sha256") == "" {
		t.Errorf("signed %v, sent %v", keys.signed, got)
	}
	if _, err := open(t, wire.Bearer("token"), keep).List(t.Context(), "", 1); err != nil {
		t.Fatal(err)
	}
	for name := range got {
		if strings.HasPrefix(name, "X-Amz-") || name == "Accept-Encoding" {
			t.Errorf("with a token: %s", name)
		}
	}
	if got.Get("Authorization") != "Bearer token" {
		t.Errorf("with a token: %v", got)
	}
}
