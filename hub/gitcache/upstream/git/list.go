package git

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitref"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/httpwords"
)

// maxListing limits the bytes of one listing.
const maxListing = 256 << 20

// The content types of Git's answers.
const (
	advertisementType = "application/x-git-upload-pack-advertisement"
	resultType        = "application/x-git-upload-pack-result"
)

// errNoRefs means that a server speaks protocol 2 without the command ls-refs.
var errNoRefs = errors.New("the server speaks protocol 2 but lists no refs")

// List requests the server's refs under the given prefixes and passes them to
// see, one by one and each at least once; an error of see ends it. Names that
// git would not accept are left out. Errors have a code and the server's
// message, without secrets.
func (s *Server) List(ctx context.Context, prefixes []string, see func(gitref.Ref) error) (Listing, error) {
	ctx, cancel := context.WithTimeout(ctx, s.git.config.ListTimeout)
	defer cancel()
	var l Listing
	var err error
	if s.loc.Scheme == "ssh" {
		l, err = s.listSSH(ctx, prefixes, see)
	} else {
		l, err = s.listHTTP(ctx, prefixes, see)
	}
	if err != nil {
		return Listing{}, s.explain(ctx, err)
	}
	return l, nil
}

func (s *Server) listHTTP(ctx context.Context, prefixes []string, see func(gitref.Ref) error) (Listing, error) {
	offer, err := s.do(ctx, http.MethodGet, s.loc.String()+"/info/refs?service=git-upload-pack", "", advertisementType)
	if err != nil {
		return Listing{}, err
	}
	a, err := readAdvertisement(bufio.NewReader(offer), prefixes, see)
	if err = errors.Join(err, offer.Close()); err != nil || !a.version2 {
		return a.Listing, err
	}
	if !a.lsRefs {
		return Listing{}, errNoRefs
	}
	// As git does: where the first request was redirected to, the next ones go.
	body, err := s.do(ctx, http.MethodPost, offer.base(s.loc.String())+"/git-upload-pack", a.lsRefsRequest(prefixes), resultType)
	if err != nil {
		return Listing{}, err
	}
	defer body.Close()
	return a.Listing, readRefs(bufio.NewReader(body), &a.Listing, prefixes, see)
}

// reply is the body of an answer, and the URL that gave it after redirects within the server.
type reply struct {
	io.Reader
	io.Closer
	from *url.URL
}

// base is the repository's URL as the reply to a listing has it; asked is that of the request.
func (r *reply) base(asked string) string {
	from := *r.from
	path, ok := strings.CutSuffix(from.EscapedPath(), "/info/refs")
	if !ok {
		return asked
	}
	return from.Scheme + "://" + from.Host + path
}

// do makes one request and returns the body of a successful answer of the
// wanted type.
func (s *Server) do(ctx context.Context, method, at, body, want string) (*reply, error) {
	user, password, err := s.login(ctx)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, at, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "git/axle")
	r.Header.Set("Git-Protocol", "version=2")
	r.Header.Set("Accept", want)
	if body != "" {
		r.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	}
	if password != "" {
		r.SetBasicAuth(user, password)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized && s.app != nil && s.app.forget(password) {
		_ = resp.Body.Close()
		return s.do(ctx, method, at, body, want) // once: the next token is new
	}
	if got := mediaType(resp); resp.StatusCode != http.StatusOK || got != want {
		defer resp.Body.Close()
		return nil, s.refused(resp)
	}
	return &reply{io.LimitReader(resp.Body, maxListing), resp.Body, resp.Request.URL}, nil
}

func mediaType(resp *http.Response) string {
	t, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return t
}

// refused converts an answer that is not Git's into an error.
func (s *Server) refused(resp *http.Response) error {
	words := httpwords.Read(resp.Header.Get("Content-Type"), resp.Body)
	said := httpwords.Clause(s.Scrub(words))
	where := s.loc.String()
	wait := retryAfter(resp.Header, s.git.config.Now())
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized && s.access.Password == "" && s.app == nil:
		return errcode.New(errcode.Unauthorized, "%s wants credentials (HTTP 401)%s; give the repository a username and password, or a token", where, said)
	case code == http.StatusUnauthorized, code == http.StatusForbidden && wait == 0:
		return errcode.New(errcode.Unauthorized, "%s refuses the credentials (HTTP %d)%s; check that they are right and may read the repository", where, code, said)
	case code == http.StatusNotFound:
		return errcode.New(errcode.NotFound, "%s does not exist, or the credentials may not see it (HTTP 404)%s; what was fetched stays in use", where, said)
	case code == http.StatusGone:
		return errcode.New(errcode.NotFound, "%s was removed (HTTP 410)%s; what was fetched stays in use", where, said)
	case code == http.StatusNonAuthoritativeInfo:
		return errcode.New(errcode.Unauthorized, "%s answers with a sign-in page (HTTP 203), as Azure DevOps does without a valid token; give the repository one that may read its code", where)
	case code == http.StatusOK && mediaType(resp) == "text/plain" && dumb.MatchString(words):
		return errcode.New(errcode.Invalid, "%s serves files only (git's dumb protocol), from which no ref can be asked for; use an address of the server with git-http-backend, or ssh", where)
	case code == http.StatusOK:
		return errcode.New(errcode.Unavailable, "%s did not answer as a Git server (content type %q); is there a sign-in page or a proxy in between?", where, mediaType(resp))
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable, code == http.StatusForbidden:
		until := ""
		if wait > 0 {
			until = ", after " + s.git.config.Now().Add(wait+time.Minute-1).UTC().Truncate(time.Minute).Format("15:04 UTC")
		}
		return errcode.New(errcode.Unavailable, "%s asks to come back later%s (HTTP %d)%s", where, until, code, said).After(wait)
	}
	return errcode.New(errcode.Unavailable, "%s answered HTTP %d%s", where, resp.StatusCode, said)
}

// dumb is the beginning of a file info/refs.
var dumb = regexp.MustCompile(`^[0-9a-f]{40,64}\s+refs/`)

// maxWait limits the Retry-After of a server, so that one wrong header does not
// stop the following of a repository.
const maxWait = time.Hour

// retryAfter reads both forms of the header, and GitHub's of a limit that is used up.
func retryAfter(h http.Header, now time.Time) time.Duration {
	raw := strings.TrimSpace(h.Get("Retry-After"))
	if reset, err := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64); raw == "" && err == nil && h.Get("X-Ratelimit-Remaining") == "0" {
		return min(maxWait, max(time.Second, time.Unix(reset, 0).Sub(now)))
	}
	if n, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return time.Duration(min(int64(maxWait/time.Second), max(0, n))) * time.Second
	}
	if at, err := http.ParseTime(raw); err == nil {
		return min(maxWait, max(0, at.Sub(now)))
	}
	return 0
}
