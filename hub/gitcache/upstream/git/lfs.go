package git

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/httpwords"
)

const (
	// lfsBatch is how many objects are in one request.
	lfsBatch = 100
	// lfsTimeout limits everything that one source needs.
	lfsTimeout = 15 * time.Minute
	lfsType    = "application/vnd.git-lfs+json"
	// maxLFSAnswer limits the answer to one request.
	maxLFSAnswer = 4 << 20
)

// lfsObject is one object in a request or answer of the batch API.
type lfsObject struct {
	OID     string `json:"oid"`
	Size    int64  `json:"size"`
	Actions struct {
		Download *struct {
			Href   string            `json:"href"`
			Header map[string]string `json:"header"`
		} `json:"download"`
	} `json:"actions,omitzero"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// FetchLFS fetches objects from the repository's LFS server and stores each
// after comparing its bytes with its id and size.
func (s *Server) FetchLFS(ctx context.Context, to Repository, want []references.Pointer) error {
	ctx, cancel := context.WithTimeout(ctx, lfsTimeout)
	defer cancel()
	if s.client == nil {
		return errcode.New(errcode.Unprocessable, "%s: LFS files are fetched over https; register the repository with its https URL", s.loc)
	}
	for part := range slices.Chunk(want, lfsBatch) {
		objects, err := s.lfsBatch(ctx, part)
		if err != nil {
			return err
		}
		for _, p := range part {
			if err := s.lfsObject(ctx, to, p, objects); err != nil {
				return err
			}
		}
	}
	return nil
}

// lfsBatch requests the download URLs of the objects.
func (s *Server) lfsBatch(ctx context.Context, want []references.Pointer) ([]lfsObject, error) {
	ask := map[string]any{"operation": "download", "transfers": []string{"basic"}, "hash_algo": "sha256"}
	list := make([]map[string]any, len(want))
	for i, p := range want {
		list[i] = map[string]any{"oid": p.OID, "size": p.Size}
	}
	ask["objects"] = list
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(s.loc.String(), ".git") + ".git"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/info/lfs/objects/batch", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", lfsType)
	r.Header.Set("Content-Type", lfsType)
	if err := s.lfsLogin(ctx, r); err != nil {
		return nil, err
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, s.lfsFailed("ask for LFS files", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, s.lfsRefused(resp, "")
	}
	var answer struct {
		Transfer string      `json:"transfer"`
		Objects  []lfsObject `json:"objects"`
	}
	if err := bounded.ReadJSON(resp.Body, &answer, maxLFSAnswer); err != nil {
		return nil, errcode.New(errcode.Unavailable, "the LFS server of %s did not answer with JSON: %w", s.loc, err)
	}
	if answer.Transfer != "" && answer.Transfer != "basic" {
		return nil, errcode.New(errcode.Unprocessable, "the LFS server of %s requires the transfer %.50q; only basic is supported", s.loc, answer.Transfer)
	}
	return answer.Objects, nil
}

func (s *Server) lfsLogin(ctx context.Context, r *http.Request) error {
	user, password, err := s.login(ctx)
	if err == nil && password != "" {
		r.SetBasicAuth(user, password)
	}
	return err
}

// lfsObject fetches one object.
func (s *Server) lfsObject(ctx context.Context, to Repository, p references.Pointer, objects []lfsObject) error {
	i := slices.IndexFunc(objects, func(o lfsObject) bool { return o.OID == p.OID })
	switch {
	case i < 0:
		return errcode.New(errcode.Unavailable, "the LFS server of %s did not answer for object %s", s.loc, p.OID)
	case objects[i].Error != nil:
		return errcode.New(errcode.Unprocessable, "the LFS server of %s refuses object %s: %.300s", s.loc, p.OID, s.Scrub(objects[i].Error.Message))
	case objects[i].Actions.Download == nil:
		return errcode.New(errcode.Unprocessable, "the LFS server of %s has no object %s", s.loc, p.OID)
	}
	d := objects[i].Actions.Download
	u, err := url.Parse(d.Href)
	if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && s.git.config.AllowHTTP) {
		return errcode.New(errcode.Unprocessable, "the LFS server of %s gives object %s an invalid URL", s.loc, p.OID)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	for k, v := range d.Header {
		r.Header.Set(k, v)
	}
	client := s.client
	if !s.same(u) {
		// The object is on another server: connect under the same rules, and
		// send only what the answer says.
		t, ok := s.client.Transport.(*http.Transport)
		if !ok {
			return errcode.New(errcode.Unprocessable, "the LFS server of %s refers to %s, which cannot be reached", s.loc, u.Host)
		}
		t = t.Clone()
		t.TLSClientConfig.Certificates = nil
		defer t.CloseIdleConnections()
		client = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	} else if r.Header.Get("Authorization") == "" {
		if err := s.lfsLogin(ctx, r); err != nil {
			return err
		}
	}
	resp, err := client.Do(r)
	if err != nil {
		return s.lfsFailed("fetch LFS object "+p.OID, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return s.lfsRefused(resp, " object "+p.OID)
	}
	matches, err := to.StoreLFS(p, resp.Body)
	switch {
	case err != nil:
		return s.lfsFailed("fetch LFS object "+p.OID, err)
	case !matches:
		return errcode.New(errcode.Unprocessable, "the LFS server of %s sends bytes that do not match object %s of %d bytes", s.loc, p.OID, p.Size)
	}
	return nil
}

func (s *Server) lfsFailed(what string, err error) error {
	var coded *errcode.Error
	if errors.As(err, &coded) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return errcode.New(errcode.Unavailable, "%s: %s", what, s.Scrub(err.Error()))
}

func (s *Server) lfsRefused(resp *http.Response, what string) error {
	code := errcode.Unavailable
	words := s.Scrub(httpwords.Read(resp.Header.Get("Content-Type"), resp.Body))
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		code = errcode.Unauthorized
		words = strings.TrimSpace("the credentials are refused; " + words)
	case http.StatusNotFound:
		code = errcode.Unprocessable
		words = strings.TrimSpace("not found; " + words)
	}
	return errcode.New(code, "the LFS server of %s answered%s with %d%s", s.loc, what, resp.StatusCode, httpwords.Clause(words))
}
