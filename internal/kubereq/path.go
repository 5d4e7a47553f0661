package kubereq

import (
	"net/url"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// maxURI bounds path and query together: what an API server takes, less the headers.
const maxURI = 1<<20 - 32<<10

// CheckPath returns Invalid unless the request URI is an unambiguous path in origin
// form, with or without a query. It takes the text as received.
func CheckPath(uri string) error {
	switch {
	case uri == "" || uri[0] != '/':
		return errcode.New(errcode.Invalid, "the request's path must begin with a slash; a full URL is not allowed")
	case len(uri) > maxURI:
		return errcode.New(errcode.Invalid, "the path and query are longer than %d bytes", maxURI)
	}
	for i := range len(uri) {
		if c := uri[i]; c <= ' ' || c >= 0x7f || c == '#' || c == '\\' {
			return errcode.New(errcode.Invalid, "the request's path contains byte 0x%02x, which is not allowed in a URL", c)
		}
	}
	path, _, _ := strings.Cut(uri, "?")
	if path == "/" {
		return nil
	}
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		if segment == "" && i < len(segments)-1 {
			return errcode.New(errcode.Invalid, "the request's path has two slashes in a row")
		}
		if err := checkSegment(segment); err != nil {
			return err
		}
	}
	return nil
}

// checkSegment checks one segment between two slashes.
func checkSegment(segment string) error {
	plain, err := url.PathUnescape(segment)
	if err != nil {
		return errcode.New(errcode.Invalid, "the request's path contains an invalid escape: %.40q", segment)
	}
	if plain == "." || plain == ".." {
		return errcode.New(errcode.Invalid, "the request's path contains the segment %q; use the direct path", plain)
	}
	for i := range len(plain) {
		if c := plain[i]; c < ' ' || c == 0x7f || c == '/' || c == '\\' {
			return errcode.New(errcode.Invalid, "the request's path contains the escaped byte 0x%02x", c)
		}
	}
	if again, err := url.PathUnescape(plain); err == nil && again != plain {
		return errcode.New(errcode.Invalid, "the request's path is escaped twice: %.40q", segment)
	}
	return nil
}
