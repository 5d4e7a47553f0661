package agentapi

import (
	"bytes"
	"context"
	"net/http"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/preview"
)

// Previews are the comparisons that people asked for.
type Previews interface {
	Pending(ctx context.Context, clusterID string, services []fleet.AgentSpec) (map[string][]preview.Open, error)
	Answer(ctx context.Context, p preview.Preview) error
	MayFetch(ctx context.Context, clusterID, digest string) (files []byte, may bool, err error)
}

// noPreviews is the Previews of a server without previews.
type noPreviews struct{}

func (noPreviews) Pending(context.Context, string, []fleet.AgentSpec) (map[string][]preview.Open, error) {
	return nil, nil
}
func (noPreviews) Answer(context.Context, preview.Preview) error { return nil }
func (noPreviews) MayFetch(context.Context, string, string) ([]byte, bool, error) {
	return nil, false, nil
}

func previewMessages(all []preview.Open) []*agentv1.Preview {
	var out []*agentv1.Preview
	for _, o := range all {
		one := &agentv1.Preview{Request: o.Request, Spec: specMessage(o.Spec)}
		for _, p := range o.Spec.Service.Parts {
			one.Parts = append(one.Parts, &agentv1.Part{Path: p.Path, Name: p.Name, Digest: p.Digest, Bytes: p.Size, Entry: p.Entry})
		}
		out = append(out, one)
	}
	return out
}

// sent is a caller's files, as a readable tarball.
type sent struct{ *bytes.Reader }

func (sent) Close() error { return nil }

// mayFetch reports whether a cluster may have a digest. It also returns the
// files when they were sent by a caller and are not content of a repository.
func (s *Server) mayFetch(r *http.Request, clusterID, digest string) (*gitcache.Tarball, bool) {
	if s.config.Desired.MayFetch(clusterID, digest) {
		return nil, true
	}
	files, may, err := s.config.Previews.MayFetch(r.Context(), clusterID, digest)
	if err != nil || !may || files == nil {
		return nil, may && err == nil
	}
	return &gitcache.Tarball{ReadSeekCloser: sent{bytes.NewReader(files)}, Size: int64(len(files)), ETag: `"` + digest + `-files"`,
		ContentType: gitcache.ContentType, From: "preview", ModTime: time.Time{}}, true
}
