package git

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/httpwords"
	"github.com/axle-cd/axle/internal/repourl"
)

const (
	// lfsBatch is how many objects are in one request.
	lfsBatch = 100
	// lfsTimeout limits everything that one source needs.
	lfsTimeout = 15 * time.Minute
	// lfsSoon is how long an address must be good for when it is used.
	lfsSoon = 5 * time.Second
	lfsType = "application/vnd.git-lfs+json"
	// maxLFSAnswer limits the answer to one request.
	maxLFSAnswer = 4 << 20
)

// lfsObject is one object in an answer of the batch API. Every field of such an answer is a
// row of test/field/sources/lfsbatch.yaml, also those that are ignored.
type lfsObject struct {
	OID string `json:"oid"`
	// Authenticated says that the address, or its header, is all that the request needs.
	Authenticated bool `json:"authenticated"`
	Actions       struct {
		Download *struct {
			Href      string            `json:"href"`
			Header    map[string]string `json:"header"`
			ExpiresIn float64           `json:"expires_in"`
			ExpiresAt string            `json:"expires_at"`
		} `json:"download"`
	} `json:"actions"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// ends is when the address of an object is good no more, the zero time if that is not known.
// asked is when it was asked for.
func (o lfsObject) ends(asked time.Time) time.Time {
	d := o.Actions.Download
	if d == nil {
		return time.Time{}
	}
	if d.ExpiresIn != 0 {
		return asked.Add(time.Duration(min(d.ExpiresIn, 1e9) * float64(time.Second)))
	}
	at, _ := time.Parse(time.RFC3339, d.ExpiresAt) // another text is as none
	return at
}

// FetchLFS fetches objects and stores each after comparing its bytes with its id and size.
// configured is the LFS server that the repository's .lfsconfig names; "" is that of the
// repository itself.
func (s *Server) FetchLFS(ctx context.Context, to Repository, configured string, want []references.Pointer) error {
	ctx, cancel := context.WithTimeout(ctx, lfsTimeout)
	defer cancel()
	from, err := s.lfsServer(configured)
	if err != nil {
		return err
	}
	defer from.close()
	for part := range slices.Chunk(want, lfsBatch) {
		asked := s.git.config.Now()
		objects, err := from.batch(ctx, part)
		if err != nil {
			return err
		}
		for i, p := range part {
			// The addresses of a batch end while its large files are fetched: they are asked
			// for anew.
			if i > 0 && from.ended(p, objects, asked) {
				asked = s.git.config.Now()
				if objects, err = from.batch(ctx, part[i:]); err != nil {
					return err
				}
			}
			if err := from.object(ctx, to, p, objects); err != nil {
				return err
			}
		}
	}
	return nil
}

// lfsServer is the LFS server of one fetch.
type lfsServer struct {
	*Server
	// at is its address without user and password, which are in user.
	at   *url.URL
	user *url.Userinfo
	name string // in errors
	// others are the connections to servers that are not the repository's, by scheme and host.
	others map[string]*http.Client
}

// lfsServer finds the LFS server as git-lfs does: the configured one, or the one below the
// repository's URL.
func (s *Server) lfsServer(configured string) (*lfsServer, error) {
	out := &lfsServer{Server: s, name: "the LFS server of " + s.loc.String(), others: map[string]*http.Client{}}
	raw := configured
	if raw == "" {
		if s.client == nil {
			return nil, errcode.New(errcode.Unprocessable, "%s: LFS files are fetched over https; register the repository with its https URL, or set lfs.url in its .lfsconfig", s.loc)
		}
		raw = strings.TrimSuffix(s.loc.String(), ".git") + ".git/info/lfs"
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil, u.Host == "", u.Scheme != "https" && u.Scheme != "http":
		return nil, errcode.New(errcode.Unprocessable, "the .lfsconfig of %s has the LFS server %.200q; LFS files are fetched over https, so give its https address", s.loc, repourl.Shown(raw))
	case u.Scheme == "http" && !s.git.config.AllowHTTP:
		return nil, errcode.New(errcode.Unprocessable, "the .lfsconfig of %s has the LFS server %.200q, with plain http; use https", s.loc, repourl.Shown(raw))
	}
	out.user, u.User = u.User, nil
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), ""
	if out.at = u; configured != "" {
		out.name = fmt.Sprintf("the LFS server %s://%s of %s", u.Scheme, u.Host, s.loc)
	}
	return out, nil
}

func (l *lfsServer) close() {
	for _, c := range l.others {
		c.CloseIdleConnections()
	}
}

// clientTo returns a client for an address. Other servers than the repository's are reached
// under the same rules, but without its client certificate.
func (l *lfsServer) clientTo(u *url.URL) *http.Client {
	last := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if l.same(u) {
		c := *l.client
		c.CheckRedirect = last
		return &c
	}
	key := u.Scheme + "://" + u.Host
	if l.others[key] == nil {
		t := l.transportTo(u)
		t.TLSClientConfig.Certificates = nil
		l.others[key] = &http.Client{Transport: t, CheckRedirect: last}
	}
	return l.others[key]
}

// authorize adds the repository's credentials to a request to its own server, and those of
// the configured address to one to that server. No other request has any.
func (l *lfsServer) authorize(ctx context.Context, r *http.Request) error {
	if password, ok := l.user.Password(); ok && sameOrigin(r.URL, l.at) {
		r.SetBasicAuth(l.user.Username(), password)
		return nil
	}
	if !l.same(r.URL) {
		return nil
	}
	user, password, err := l.login(ctx)
	if err == nil && password != "" {
		r.SetBasicAuth(user, password)
	}
	return err
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

// batch requests the download URLs of the objects.
func (l *lfsServer) batch(ctx context.Context, want []references.Pointer) ([]lfsObject, error) {
	list := make([]map[string]any, len(want))
	for i, p := range want {
		list[i] = map[string]any{"oid": p.OID, "size": p.Size}
	}
	body, err := json.Marshal(map[string]any{"operation": "download", "transfers": []string{"basic"}, "hash_algo": "sha256", "objects": list})
	if err != nil {
		return nil, err
	}
	resp, err := l.post(ctx, body)
	if err != nil {
		return nil, l.failed("ask for LFS files", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, l.refused(resp, "")
	}
	return l.answer(resp.Body)
}

// answer decodes the answer to a batch.
func (l *lfsServer) answer(body io.Reader) ([]lfsObject, error) {
	var answer struct {
		Transfer string      `json:"transfer"`
		HashAlgo string      `json:"hash_algo"`
		Objects  []lfsObject `json:"objects"`
	}
	if err := bounded.ReadJSON(body, &answer, maxLFSAnswer); err != nil {
		return nil, errcode.New(errcode.Unavailable, "%s did not answer with JSON: %w", l.name, err)
	}
	switch {
	case answer.Transfer != "" && answer.Transfer != "basic":
		return nil, errcode.New(errcode.Unprocessable, "%s requires the transfer %.50q; only basic is supported", l.name, answer.Transfer)
	case answer.HashAlgo != "" && answer.HashAlgo != "sha256":
		return nil, errcode.New(errcode.Unprocessable, "%s names objects by %.50q; only sha256 is supported", l.name, answer.HashAlgo)
	}
	return answer.Objects, nil
}

// ended reports whether the address of an object was good no more, or nearly.
func (l *lfsServer) ended(p references.Pointer, objects []lfsObject, asked time.Time) bool {
	i := slices.IndexFunc(objects, func(o lfsObject) bool { return o.OID == p.OID })
	if i < 0 {
		return false
	}
	end := objects[i].ends(asked)
	return !end.IsZero() && l.git.config.Now().Add(lfsSoon).After(end)
}

// post sends a batch. As git-lfs does, it sends it again to where a redirect leads, but only
// within the server.
func (l *lfsServer) post(ctx context.Context, body []byte) (*http.Response, error) {
	at := l.at.JoinPath("objects", "batch")
	for range maxRedirects {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Accept", lfsType)
		r.Header.Set("Content-Type", lfsType)
		if err := l.authorize(ctx, r); err != nil {
			return nil, err
		}
		resp, err := l.clientTo(at).Do(r)
		if err != nil {
			return nil, err
		}
		to, err := resp.Location()
		if resp.StatusCode/100 != 3 || err != nil {
			return resp, nil
		}
		_ = resp.Body.Close()
		if !sameOrigin(to, l.at) {
			return nil, l.elsewhere(to)
		}
		at = to
	}
	return nil, errcode.New(errcode.Unavailable, "%s redirects in a circle", l.name)
}

// object fetches one object.
func (l *lfsServer) object(ctx context.Context, to Repository, p references.Pointer, objects []lfsObject) error {
	r, err := l.download(ctx, p, objects)
	if err != nil {
		return err
	}
	resp, err := l.clientTo(r.URL).Do(r)
	if err != nil {
		return l.failed("fetch LFS object "+p.OID, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return l.refused(resp, " object "+p.OID)
	}
	matches, err := to.StoreLFS(p, resp.Body)
	switch {
	case err != nil:
		return l.failed("fetch LFS object "+p.OID, err)
	case !matches:
		return errcode.New(errcode.Unprocessable, "%s sends bytes that do not match object %s of %d bytes", l.name, p.OID, p.Size)
	}
	return nil
}

// download returns the request for an object, as the answer to the batch describes it.
func (l *lfsServer) download(ctx context.Context, p references.Pointer, objects []lfsObject) (*http.Request, error) {
	i := slices.IndexFunc(objects, func(o lfsObject) bool { return o.OID == p.OID })
	switch {
	case i < 0:
		return nil, errcode.New(errcode.Unavailable, "%s did not answer for object %s", l.name, p.OID)
	case objects[i].Error != nil:
		code := errcode.Unprocessable
		if n := objects[i].Error.Code; n == http.StatusTooManyRequests || n >= 500 {
			code = errcode.Unavailable // it may have the object in a minute
		}
		return nil, errcode.New(code, "%s refuses object %s: %.300s", l.name, p.OID, httpwords.Line(l.Scrub(objects[i].Error.Message)))
	case objects[i].Actions.Download == nil:
		return nil, errcode.New(errcode.Unprocessable, "%s has no object %s", l.name, p.OID)
	}
	d := objects[i].Actions.Download
	u, err := url.Parse(d.Href)
	if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && l.git.config.AllowHTTP) {
		return nil, errcode.New(errcode.Unprocessable, "%s gives object %s an invalid URL", l.name, p.OID)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	for k, v := range d.Header {
		r.Header.Set(k, v)
	}
	// A signed address with credentials beside it is refused by stores such as S3's.
	if r.Header.Get("Authorization") == "" && !objects[i].Authenticated {
		err = l.authorize(ctx, r)
	}
	return r, err
}

func (l *lfsServer) failed(what string, err error) error {
	var coded *errcode.Error
	if errors.As(err, &coded) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return errcode.New(errcode.Unavailable, "%s: %s", what, l.Scrub(err.Error()))
}

func (l *lfsServer) refused(resp *http.Response, what string) error {
	code := errcode.Unavailable
	words := l.Scrub(httpwords.Read(resp.Header.Get("Content-Type"), resp.Body))
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		code = errcode.Unauthorized
		why := "the credentials are refused; "
		if !l.same(resp.Request.URL) {
			why = "the credentials of the repository are for its own server only; "
		}
		words = strings.TrimSpace(why + words)
	case http.StatusNotFound:
		code = errcode.Unprocessable
		words = strings.TrimSpace("not found; " + words)
	}
	return errcode.New(code, "%s answered%s with %d%s", l.name, what, resp.StatusCode, httpwords.Clause(words)).
		After(retryAfter(resp.Header, l.git.config.Now()))
}
