package diffview

import (
	"bytes"
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/tarball"
)

const (
	// maxFiles bounds the packed size of a folder that is sent, in bytes.
	maxFiles = 4 << 20
	// atOnce bounds how many services are compared at the same time.
	atOnce = 16
)

// Asker requests diffs from the hub and waits for the agents' answers.
type Asker struct {
	AskDiff    func(context.Context, *hubv1.DiffServiceRequest) (*hubv1.ServiceDiff, error)
	AskPreview func(context.Context, *hubv1.PreviewServiceRequest) (*hubv1.ServiceDiff, error)
}

// Packed returns a folder as the archive that the hub accepts, without .git.
func Packed(ctx context.Context, dir string) ([]byte, error) {
	if dir == "" {
		return nil, nil
	}
	var entries iter.Seq2[tarball.Entry, error] = func(yield func(tarball.Entry, error) bool) {
		for e, err := range tarball.Folder(ctx, dir) {
			if err == nil && (e.Path == ".git" || strings.HasPrefix(e.Path, ".git/")) {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
	var out bytes.Buffer
	if _, _, err := tarball.Write(&out, entries, tarball.Options{Limits: tarball.Limits{Bytes: 32 << 20, Files: 10_000, Depth: tarball.DefaultLimits.Depth}}); err != nil {
		return nil, errcode.New(errcode.Invalid, "--file %s: %w", dir, err)
	}
	if out.Len() > maxFiles {
		return nil, errcode.New(errcode.Invalid, "--file %s: it is %d bytes packed, and at most %d are accepted; name the service's own folder", dir, out.Len(), maxFiles)
	}
	return out.Bytes(), nil
}

// Diff requests a diff from the agent and waits for its answer.
func (a Asker) Diff(ctx context.Context, ref *hubv1.ServiceRef, last bool) (*hubv1.ServiceDiff, error) {
	first, err := a.AskDiff(ctx, &hubv1.DiffServiceRequest{Ref: ref, Fresh: !last})
	if err != nil {
		return nil, err
	}
	d := first
	if last && d.GetMadeAt() == 0 {
		return nil, errcode.New(errcode.NotFound, "there is no diff of %s/%s yet; leave out --last to request one", ref.GetCluster(), ref.GetName())
	}
	// An answer for an earlier revision does not count: another commit may have
	// arrived while the agent was asked.
	wanted, number := d.GetRequested(), d.GetDesiredNumber()
	for !last && (d.GetAnswered() < wanted || d.GetRevision() < number && d.GetError() == "") {
		again, err := pause(ctx, ref, func(ctx context.Context) (*hubv1.ServiceDiff, error) {
			return a.AskDiff(ctx, &hubv1.DiffServiceRequest{Ref: ref})
		})
		if err != nil {
			return nil, err
		}
		d = again
	}
	return d, nil
}

// Preview requests a preview and waits for its answer.
func (a Asker) Preview(ctx context.Context, want *hubv1.PreviewServiceRequest) (*hubv1.ServiceDiff, error) {
	first, err := a.AskPreview(ctx, want)
	if err != nil {
		return nil, err
	}
	d := first
	for request := d.GetRequested(); !d.GetSameFiles() && d.GetAnswered() < request && d.GetError() == ""; {
		again, err := pause(ctx, want.GetRef(), func(ctx context.Context) (*hubv1.ServiceDiff, error) {
			return a.AskPreview(ctx, &hubv1.PreviewServiceRequest{Ref: want.GetRef(), Request: request})
		})
		if err != nil {
			return nil, err
		}
		d = again
	}
	return d, nil
}

// pause waits a short time and asks again.
func pause(ctx context.Context, ref *hubv1.ServiceRef, ask func(context.Context) (*hubv1.ServiceDiff, error)) (*hubv1.ServiceDiff, error) {
	away := func() error {
		return errcode.New(errcode.Unavailable, "the agent of %s did not answer in time: it polls only every few minutes, or is offline (axle clusters get %s)", ref.GetCluster(), ref.GetCluster())
	}
	if jitter.Wait(ctx, 500*time.Millisecond+jitter.Full(time.Second)) != nil {
		return nil, away()
	}
	d, err := ask(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, away()
	case err != nil:
		return nil, err
	}
	return d, nil
}

// All compares services, several at once. Only the first one makes the hub
// fetch the repository.
func (a Asker) All(ctx context.Context, services []*hubv1.Service, repository, ref string, say func(done, differ int)) Fleet {
	fleet := Fleet{Repository: repository, Ref: ref, Services: []View{}, Summary: Summary{Objects: map[string]int{}}}
	if len(services) == 0 {
		return fleet
	}
	views := make([]View, len(services))
	var mu sync.Mutex
	done, differ := 0, 0
	compare := func(n int) {
		want := &hubv1.PreviewServiceRequest{Ref: &hubv1.ServiceRef{Cluster: services[n].GetCluster(), Name: services[n].GetName()},
			SourceRef: ref, Repository: repository, Refresh: n == 0, ChangedOnly: true}
		d, err := a.Preview(ctx, want)
		if err != nil {
			d = &hubv1.ServiceDiff{Error: errcode.Text(err)}
		}
		mu.Lock()
		defer mu.Unlock()
		views[n] = Of(want.GetRef(), "ref "+ref, d)
		if done++; views[n].Differs() {
			differ++
		}
		say(done, differ)
	}
	compare(0)
	places := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for n := 1; n < len(services); n++ {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			compare(n)
		})
	}
	all.Wait()
	for _, v := range views {
		fleet.Add(v)
	}
	return fleet
}
