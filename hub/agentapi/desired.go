package agentapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/desired"
	"github.com/axle-cd/axle/internal/clock"
)

// signaturePrefix separates signatures of lists from signatures of anything
// else.
const signaturePrefix = "axle-desired\n"

// compressFrom is the size below which compression is not worthwhile.
const compressFrom = 1024

// noDate is net/http's way to omit the Date header: every byte of an idle poll
// counts, and agents take the time from other answers.
var noDate []string

// desired answers GET /agent/v1/desired. Most polls only reach the first part.
func (s *Server) desired(w http.ResponseWriter, r *http.Request) {
	ctx, h := r.Context(), w.Header()
	p, err := s.admit(ctx, r.Header)
	// Read the position before the list, so that the list is at least as new.
	s.position.set(h, s.config.Feed, s.config.Feed.Position(), first(r.Header, seenHeader))
	if err != nil {
		s.metrics.pollRefused.Inc()
		s.refuse(w, r, err)
		return
	}
	etag, err := s.config.Desired.ETag(p.ID)
	if err != nil {
		s.metrics.pollRefused.Inc()
		s.refuse(w, r, err)
		return
	}
	s.config.Fleet.Seen(p.ID, s.config.Clock.Now())
	if what := first(r.Header, refusedName); what != "" {
		s.refused(ctx, p, what)
	}
	kept := s.kept.get(p.ID, etag, s.config.Fleet.StatusHash(p.ID))
	h["Etag"] = kept.etag
	h[statusName] = kept.status
	if first(r.Header, "If-None-Match") == etag {
		h["Date"] = noDate
		s.metrics.pollUnchanged.Inc()
		w.WriteHeader(http.StatusNotModified)
		return
	}
	held, err := s.crowd.Take(s.sharing(p))
	if err != nil {
		s.metrics.pollCrowded.Inc()
		delete(h, "Etag")
		s.refuse(w, r, err)
		return
	}
	s.metrics.pollChanged.Inc()
	defer held.Leave()
	s.list(ctx, w, r, p.ID)
}

// list sends a cluster's whole list, signed.
func (s *Server) list(ctx context.Context, w http.ResponseWriter, r *http.Request, clusterID string) {
	list, err := s.config.Desired.For(clusterID)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	body, err := s.sign(ctx, list)
	if err != nil {
		delete(w.Header(), "Etag")
		s.refuse(w, r, err)
		return
	}
	h := w.Header()
	s.position.set(h, s.config.Feed, list.Position, "")
	h.Set("Etag", list.ETag)
	h.Set("Content-Type", "application/x-protobuf")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept-Encoding")
	if encoding := chooseEncoding(first(r.Header, "Accept-Encoding")); encoding != "" && len(body) >= compressFrom {
		if body, err = compress(body, encoding); err != nil {
			delete(h, "Etag")
			s.refuse(w, r, err)
			return
		}
		h.Set("Content-Encoding", encoding)
	}
	// An agent that went away polls again.
	_, _ = w.Write(body)
}

func (s *Server) sign(ctx context.Context, list desired.List) ([]byte, error) {
	inner, err := proto.Marshal(listMessage(list))
	if err != nil {
		return nil, fmt.Errorf("encode a list: %w", err)
	}
	signature, err := s.config.Keys.Sign(ctx, append([]byte(signaturePrefix), inner...))
	if err != nil {
		return nil, err
	}
	body, err := proto.Marshal(&agentv1.SignedDesired{Desired: inner, Signature: signature.Bytes, KeyId: signature.KeyID})
	if err != nil {
		return nil, fmt.Errorf("encode a signed list: %w", err)
	}
	return body, nil
}

func listMessage(list desired.List) *agentv1.Desired {
	life := list.Incarnation
	m := &agentv1.Desired{
		ClusterId: list.ClusterID, Pending: list.Pending, Destroying: list.Destroying, FormerClusters: list.Former,
		Position: positionMessage(list.Position),
		Incarnation: &agentv1.Incarnation{
			Id: life.ID, StartedAt: clock.Micros(life.StartedAt), ParentId: life.ParentID,
			ParentKeptSequence: life.ParentKeptSequence, ParentKeptAt: clock.Micros(life.ParentKeptAt), Confirmed: life.Confirmed,
		},
		Services: make([]*agentv1.DesiredService, 0, len(list.Services)),
	}
	for _, v := range list.Services {
		one := &agentv1.DesiredService{
			Id: v.ID, Name: v.Name, Namespace: v.Namespace, TarballDigest: v.TarballDigest,
			SpecDigest: v.SpecDigest, Paused: v.Paused, TarballBytes: v.TarballBytes,
		}
		for _, p := range v.Parts {
			// An agent that does not support parts must not take one for the
			// whole.
			one.TarballDigest, one.TarballBytes = "", 0
			one.Parts = append(one.Parts, &agentv1.Part{Path: p.Path, Digest: p.Digest, Entry: p.Entry, Bytes: p.Bytes, Name: p.Name})
		}
		if why := v.Wait.String(); why != "" {
			// An agent that does not support waiting keeps what it runs as
			// well.
			one.Waiting = &agentv1.Waiting{Message: why, TarballDigest: one.GetTarballDigest(), TarballBytes: one.GetTarballBytes(), Parts: one.GetParts()}
			one.TarballDigest, one.TarballBytes, one.Parts = "", 0, nil
		}
		m.Services = append(m.Services, one)
	}
	for _, t := range list.Tombstones {
		m.Tombstones = append(m.Tombstones, &agentv1.Tombstone{
			ServiceId: t.ServiceID, TombstoneId: t.TombstoneID, Mode: t.Mode, Name: t.Name, Namespace: t.Namespace,
		})
	}
	return m
}

// chooseEncoding returns the first of our encodings that the client names. It
// ignores quality values, which our clients do not send.
func chooseEncoding(accept string) string {
	for _, encoding := range []string{"zstd", "gzip"} {
		if strings.Contains(accept, encoding) {
			return encoding
		}
	}
	return ""
}

var zstdWriter = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<17))
})

func compress(body []byte, encoding string) ([]byte, error) {
	if encoding == "zstd" {
		w, err := zstdWriter()
		if err != nil {
			return nil, fmt.Errorf("start zstd: %w", err)
		}
		return w.EncodeAll(body, nil), nil
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(body); err != nil {
		return nil, fmt.Errorf("compress a list: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress a list: %w", err)
	}
	return out.Bytes(), nil
}
