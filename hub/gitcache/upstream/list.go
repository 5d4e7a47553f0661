package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

// listTimeout bounds one listing, however slow the server.
const listTimeout = 2 * time.Minute

// maxListing bounds the bytes of one listing.
const maxListing = 128 << 20

// List asks the server for its branches and tags under the given prefixes, or
// for all of them. Errors have a code and the server's words, without secrets.
func (s *Server) List(ctx context.Context, prefixes []string) (Listing, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if len(prefixes) == 0 {
		prefixes = []string{"refs/heads/", "refs/tags/"}
	}
	var l Listing
	var err error
	if s.loc.Scheme == "ssh" {
		l, err = s.listSSH(ctx)
	} else {
		l, err = s.listHTTP(ctx, prefixes)
	}
	if err != nil {
		return Listing{}, s.explain(err)
	}
	l.Refs = under(l.Refs, prefixes)
	return l, nil
}

func (s *Server) listHTTP(ctx context.Context, prefixes []string) (Listing, error) {
	body, err := s.do(ctx, http.MethodGet, "/info/refs?service=git-upload-pack", "", "application/x-git-upload-pack-advertisement")
	if err != nil {
		return Listing{}, err
	}
	a, err := readAdvertisement(bufio.NewReader(body))
	if err = errors.Join(err, body.Close()); err != nil {
		return Listing{}, err
	}
	if !a.version2 {
		return Listing{Refs: a.refs, Format: a.format}, nil
	}
	if !a.lsRefs {
		return Listing{}, errors.New("the server speaks protocol 2 but lists no refs")
	}
	body, err = s.do(ctx, http.MethodPost, "/git-upload-pack", lsRefsRequest(a.format, prefixes), "application/x-git-upload-pack-result")
	if err != nil {
		return Listing{}, err
	}
	defer body.Close()
	refs, err := readRefs(bufio.NewReader(body))
	return Listing{Refs: refs, Format: a.format}, err
}

// do makes one request and returns the body of a good answer of the type.
func (s *Server) do(ctx context.Context, method, path, body, want string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.loc.String()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "git/axle")
	r.Header.Set("Git-Protocol", "version=2")
	r.Header.Set("Accept", want)
	if body != "" {
		r.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	}
	if s.access.Password != "" {
		r.SetBasicAuth(s.access.Username, s.access.Password)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	if got, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode != http.StatusOK || got != want {
		defer resp.Body.Close()
		return nil, s.refused(resp, got)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxListing), resp.Body}, nil
}

// refused puts an answer that is not Git's into words.
func (s *Server) refused(resp *http.Response, mediaType string) error {
	said := ""
	if strings.HasPrefix(mediaType, "text/plain") {
		raw, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		if raw = bytes.TrimSpace(raw); len(raw) > 0 {
			said = ": " + strings.ToValidUTF8(string(raw), "?")
		}
	}
	where := s.loc.String()
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized && s.access.Password == "":
		return errcode.New(errcode.Unauthorized, "%s wants credentials (HTTP 401)%s; give the repository a username and password, or a token", where, said)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return errcode.New(errcode.Unauthorized, "%s refuses the credentials (HTTP %d)%s; check that they are right and may read the repository", where, code, said)
	case code == http.StatusNotFound:
		return errcode.New(errcode.NotFound, "%s does not exist, or the credentials may not see it (HTTP 404)%s", where, said)
	case code == http.StatusOK:
		return errcode.New(errcode.Unavailable, "%s did not answer as a Git server (content type %q); is there a sign-in page or a proxy in between?", where, mediaType)
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		wait, _ := time.ParseDuration(resp.Header.Get("Retry-After") + "s")
		return errcode.New(errcode.Unavailable, "%s asks to come back later (HTTP %d)%s", where, code, said).After(wait)
	}
	return errcode.New(errcode.Unavailable, "%s answered HTTP %d%s", where, resp.StatusCode, said)
}

// explain gives every failure a code and a text without secrets.
func (s *Server) explain(err error) error {
	var coded *errcode.Error
	if errors.As(err, &coded) {
		return errcode.New(coded.Code, "%s", s.Scrub(coded.Message)).After(coded.RetryAfter)
	}
	var git *GitError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return errcode.New(errcode.Unavailable, "%s did not answer in time", s.loc)
	case errors.As(err, &git):
		return errcode.New(code(git.Words), "%s: %s", s.loc, s.Scrub(git.Words))
	}
	return errcode.New(errcode.Unavailable, "%s cannot be read: %s", s.loc, s.Scrub(err.Error()))
}

// code classes what git says by the few phrases that differ in what to do.
func code(words string) errcode.Code {
	for phrase, c := range map[string]errcode.Code{
		"Authentication failed":  errcode.Unauthorized,
		"could not read Usernam": errcode.Unauthorized,
		"Permission denied":      errcode.Unauthorized,
		"not found":              errcode.NotFound,
		"does not appear to be":  errcode.NotFound,
	} {
		if strings.Contains(words, phrase) {
			return c
		}
	}
	return errcode.Unavailable
}

// listSSH asks through git, which cannot ask for single prefixes.
func (s *Server) listSSH(ctx context.Context) (Listing, error) {
	var out bytes.Buffer
	err := s.run(ctx, Command{Args: []string{"ls-remote", "--heads", "--tags", "--", s.loc.String()}, Stdout: &out})
	if err != nil {
		return Listing{}, err
	}
	l := Listing{Format: "sha1"}
	for line := range strings.Lines(out.String()) {
		id, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || !IsID(id) {
			return Listing{}, fmt.Errorf("%.80q is no ref", line)
		}
		if len(id) == 64 {
			l.Format = "sha256"
		}
		if base, peeled := strings.CutSuffix(name, "^{}"); peeled {
			if n := len(l.Refs); n > 0 && l.Refs[n-1].Name == base {
				l.Refs[n-1].Peeled = id
			}
			continue
		}
		l.Refs = append(l.Refs, Ref{Name: name, ID: id})
	}
	return l, nil
}
