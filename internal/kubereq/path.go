package kubereq

import (
	"net/url"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// maxURI bounds path and query together.
const maxURI = 8 << 10

// CheckPath returns Invalid unless the request URI is a path in origin form,
// with or without a query, that cannot be read in two ways. It takes the text
// as it came over the wire.
func CheckPath(uri string) error {
	switch {
	case uri == "" || uri[0] != '/':
		return errcode.New(errcode.Invalid, "the request names no path that begins with a slash; a whole URL in its place is refused")
	case len(uri) > maxURI:
		return errcode.New(errcode.Invalid, "the path and query are longer than %d bytes", maxURI)
	}
	for i := range len(uri) {
		if c := uri[i]; c <= ' ' || c >= 0x7f || c == '#' || c == '\\' {
			return errcode.New(errcode.Invalid, "the request's path holds byte 0x%02x, which belongs in no URL", c)
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

// checkSegment takes one segment between two slashes.
func checkSegment(segment string) error {
	plain, err := url.PathUnescape(segment)
	if err != nil {
		return errcode.New(errcode.Invalid, "the request's path has an escape that is none: %.40q", segment)
	}
	if plain == "." || plain == ".." {
		return errcode.New(errcode.Invalid, "the request's path has a segment %q; name the thing itself", plain)
	}
	for i := range len(plain) {
		if c := plain[i]; c < ' ' || c == 0x7f || c == '/' || c == '\\' {
			return errcode.New(errcode.Invalid, "the request's path has byte 0x%02x behind an escape", c)
		}
	}
	if again, err := url.PathUnescape(plain); err == nil && again != plain {
		return errcode.New(errcode.Invalid, "the request's path is escaped twice: %.40q", segment)
	}
	return nil
}
